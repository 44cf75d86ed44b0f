package workloads.kinds;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Date;
import sun.reflect.ReflectionFactory;
import workloads.ClassBytes;
import workloads.DefiningLoader;
import workloads.Kind;
import workloads.StartupClasses;

/**
 * Reflection that inflates: JDK 17 generates an accessor class for a Method that was called 16
 * times. Methods of one class share their accessors, so each fifty calls get a bean of their own.
 */
public final class ReflectAccessor implements Kind {
    private static final int METHODS = 50;
    private static final int CALLS_TO_INFLATE = 17;
    private Class<?> bean;
    private Method cached;

    private static Object call(Method method) throws Throwable {
        for (int i = 0; i < CALLS_TO_INFLATE; i++) {
            method.invoke(null);
        }
        return method;
    }

    private Class<?> newBean(int n) {
        String name = StartupClasses.name(n * 13);
        return new DefiningLoader().define(name, ClassBytes.of(name, METHODS));
    }

    @Override
    public Object fresh(int n) throws Throwable {
        if (n % METHODS == 0 || bean == null) {
            bean = newBean(n / METHODS);
        }
        return call(bean.getMethod("m" + n % METHODS));
    }

    @Override
    public Object cached(int n) throws Throwable {
        if (cached == null) {
            cached = newBean(0).getMethod("m0");
        }
        return call(cached);
    }

    @Override
    public String unavailable() {
        return Runtime.version().feature() < 18 ? null : "JDK 18+ uses method handles";
    }

    /** Serialization libraries: a constructor accessor for each call, up to JDK 21. */
    public static final class Serialization implements Kind {
        private Constructor<?> cached;

        private static Constructor<?> constructor() throws Throwable {
            return ReflectionFactory.getReflectionFactory().newConstructorForSerialization(
                Date.class, Object.class.getDeclaredConstructor());
        }

        @Override
        public Object fresh(int n) throws Throwable {
            Constructor<?> made = constructor();
            made.newInstance();
            return made;
        }

        @Override
        public Object cached(int n) throws Throwable {
            if (cached == null) {
                cached = constructor();
            }
            return cached.newInstance();
        }

        @Override
        public String unavailable() {
            return Runtime.version().feature() < 22 ? null : "JDK 22+ uses method handles";
        }
    }
}
