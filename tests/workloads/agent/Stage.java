import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * What a test and a workload send each other: "ready" and "result ..." on standard output, and files
 * that the test makes. The properties {@code go}, {@code calm}, {@code enough} and {@code leave} name them; without one
 * there is nothing to wait for. With the property {@code pause}, milliseconds, work that repeats itself rests in between.
 */
final class Stage {
    static void ready() {
        System.out.println("ready");
    }

    /** The JVM lives on until the test has asked what it wants to know. */
    static void result(Object result) throws InterruptedException {
        System.out.println("result " + result);
        waitFor("leave");
    }

    static boolean isThere(String property) {
        String file = System.getProperty(property);
        return file != null && Files.exists(Path.of(file));
    }

    static void waitFor(String property) throws InterruptedException {
        String file = System.getProperty(property);
        while (file != null && !Files.exists(Path.of(file))) {
            Thread.sleep(20);
        }
    }

    static void rest() {
        int pause = Integer.getInteger("pause", 0);
        if (pause > 0) {
            LockSupport.parkNanos(pause * 1_000_000L);
        }
    }

    private Stage() {
    }
}
