import java.lang.management.ManagementFactory;
import com.sun.management.HotSpotDiagnosticMXBean;

/** The heap of this JVM, after three collections. */
final class Dump {
    static void to(String file) throws Exception {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(file, true);
        Runtime.getRuntime().halt(0);
    }

    /** What the application (tests/e2e/holders/kinds) does in a container. */
    static void start(ClassLoader loader, Class<?> app, String kind) throws Exception {
        Thread.currentThread().setContextClassLoader(loader);
        app.getMethod("start", String.class).invoke(null, kind);
        Thread.currentThread().setContextClassLoader(null);
    }

    private Dump() {
    }
}
