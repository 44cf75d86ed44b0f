package org.unknown.maker;

/** A library that no table knows: it defines a class anew each time it is asked, in a loader of its own. */
public final class Maker {
    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    private Maker() {
    }

    /** The class in these bytes. */
    public static Class<?> make(byte[] bytes) {
        return define(bytes);
    }

    private static Class<?> define(byte[] bytes) {
        return new Loader().define(bytes);
    }
}
