package workloads.kinds;

import net.bytebuddy.ByteBuddy;
import net.bytebuddy.TypeCache;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.FixedValue;
import net.bytebuddy.matcher.ElementMatchers;
import workloads.Kind;

/** Byte Buddy has no cache of its own; TypeCache is the one to use. */
public final class ByteBuddySubclass implements Kind {
    /** What is subclassed. */
    public static class Handler {
        public String handle() {
            return "plain";
        }
    }

    private final TypeCache<String> cache = new TypeCache<>(TypeCache.Sort.SOFT);

    private static Class<?> make() {
        return new ByteBuddy()
            .subclass(Handler.class)
            .method(ElementMatchers.named("handle"))
            .intercept(FixedValue.value("generated"))
            .make()
            .load(Handler.class.getClassLoader(), ClassLoadingStrategy.Default.WRAPPER)
            .getLoaded();
    }

    @Override
    public Object fresh(int n) throws Throwable {
        return make().getDeclaredConstructor().newInstance();
    }

    @Override
    public Object cached(int n) throws Throwable {
        return cache
            .findOrInsert(Handler.class.getClassLoader(), "handler", ByteBuddySubclass::make)
            .getDeclaredConstructor()
            .newInstance();
    }
}
