package workloads.kinds;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import workloads.DefiningLoader;
import workloads.Kind;

/** java.lang.reflect.Proxy with a new loader for each call: the JDK's cache is per loader. */
public final class JdkProxy implements Kind {
    /** What the proxies implement. */
    public interface Greeting {
        String greet(String name);
    }

    private final ClassLoader one = new DefiningLoader();
    private final InvocationHandler handler = (proxy, method, args) -> "hello " + args[0];

    private Object proxy(ClassLoader loader) {
        Class<?>[] interfaces = {Greeting.class};
        Greeting greeting = (Greeting) Proxy.newProxyInstance(loader, interfaces, handler);
        greeting.greet("you");
        return greeting;
    }

    @Override
    public Object fresh(int n) {
        return proxy(new DefiningLoader());
    }

    @Override
    public Object cached(int n) {
        return proxy(one);
    }
}
