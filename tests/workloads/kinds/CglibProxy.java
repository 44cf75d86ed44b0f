package workloads.kinds;

import net.sf.cglib.proxy.Enhancer;
import net.sf.cglib.proxy.MethodInterceptor;
import workloads.Kind;

/** CGLIB with its cache switched off: a new subclass for each proxy. */
public final class CglibProxy implements Kind {
    /** What is proxied. */
    public static class PriceService {
        public int price(int amount) {
            return amount * 42;
        }
    }

    private static Object proxy(boolean useCache) {
        Enhancer enhancer = new Enhancer();
        enhancer.setUseCache(useCache);
        enhancer.setSuperclass(PriceService.class);
        enhancer.setCallback((MethodInterceptor) (object, method, args, proxy) -> 42);
        PriceService service = (PriceService) enhancer.create();
        service.price(1);
        return service;
    }

    @Override
    public Object fresh(int n) {
        return proxy(false);
    }

    @Override
    public Object cached(int n) {
        return proxy(true);
    }

    @Override
    public boolean unloads() {
        return false;
    }
}
