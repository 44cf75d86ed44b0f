package shop;

/** Kinds of later JDKs, and of libraries: by reflection. */
final class More {
    static void leak(String kind, App app) throws Exception {
        switch (kind) {
        case "virtual-park": {
            Runnable run = () -> { App.KEPT.add(app); sleep(); };
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run);
            break;
        }
        case "virtual-latch": {
            Runnable run = () -> {
                try {
                    srv.Server.LATCH.await();
                } catch (InterruptedException e) {
                    App.KEPT.add(app);
                }
            };
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run);
            break;
        }
        case "virtual-pool": {
            var pool = (java.util.concurrent.ExecutorService) java.util.concurrent.Executors.class
                .getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
            pool.submit(() -> { App.KEPT.add(app); sleep(); });
            break;
        }
        case "upcall": {
            Class<?> linker = Class.forName("java.lang.foreign.Linker"), arena = Class.forName("java.lang.foreign.Arena"),
                function = Class.forName("java.lang.foreign.FunctionDescriptor");
            Object layouts = java.lang.reflect.Array.newInstance(Class.forName("java.lang.foreign.MemoryLayout"), 0),
                options = java.lang.reflect.Array.newInstance(Class.forName("java.lang.foreign.Linker$Option"), 0);
            var method = java.lang.invoke.MethodHandles.lookup().findStatic(More.class, "sleep",
                java.lang.invoke.MethodType.methodType(void.class));
            linker.getMethod("upcallStub", java.lang.invoke.MethodHandle.class, function, arena, options.getClass())
                .invoke(linker.getMethod("nativeLinker").invoke(null), method,
                    function.getMethod("ofVoid", layouts.getClass()).invoke(null, layouts), arena.getMethod("global").invoke(null), options);
            break;
        }
        case "scoped-value": {
            Class<?> scoped = Class.forName("java.lang.ScopedValue");
            Object bound = scoped.getMethod("where", scoped, Object.class).invoke(null, scoped.getMethod("newInstance").invoke(null), app);
            Thread thread = new Thread((Runnable) Class.forName("srv.Bound").getConstructor(Object.class).newInstance(bound));
            thread.setDaemon(true);
            thread.setContextClassLoader(null);
            thread.start();
            break;
        }
        default: throw new IllegalArgumentException(kind);
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(86_400_000L);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private More() {
    }
}
