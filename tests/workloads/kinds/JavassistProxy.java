package workloads.kinds;

import javassist.util.proxy.MethodHandler;
import javassist.util.proxy.Proxy;
import javassist.util.proxy.ProxyFactory;
import workloads.Kind;

/** Javassist's ProxyFactory without its cache. */
public final class JavassistProxy implements Kind {
    /** What is proxied. */
    public static class Repository {
        public int find(int id) {
            return id;
        }
    }

    private static Object proxy(boolean useCache) throws Throwable {
        ProxyFactory.useCache = useCache;
        ProxyFactory factory = new ProxyFactory();
        factory.setSuperclass(Repository.class);
        MethodHandler handler = (self, method, proceed, args) -> 42;
        Repository repository =
            (Repository) factory.createClass().getDeclaredConstructor().newInstance();
        ((Proxy) repository).setHandler(handler);
        repository.find(1);
        return repository;
    }

    @Override
    public Object fresh(int n) throws Throwable {
        return proxy(false);
    }

    @Override
    public Object cached(int n) throws Throwable {
        return proxy(true);
    }

    @Override
    public boolean unloads() {
        return false;
    }
}
