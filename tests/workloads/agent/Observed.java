import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/**
 * Work that is known beforehand, for who looks from outside. It begins when the file {@code -Dgo=FILE} is
 * there.
 *
 * <pre>
 * Observed classes COUNT | cpu SECONDS | allocate MEGABYTES | mixed MEGABYTES | threads COUNT | deflaters COUNT
 *     | exec 0
 * </pre>
 */
public final class Observed {
    static final List<Deflater> NEVER_ENDED = new ArrayList<>();
    static volatile Object kept;
    static volatile long sum;

    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    public static void main(String[] args) throws Exception {
        int number = Integer.parseInt(args[1]);
        byte[] bytes = template();
        new Loader().define(bytes);
        Stage.ready();
        Stage.waitFor("go");
        switch (args[0]) {
            case "classes" -> {
                for (int i = 0; i < number; i++) {
                    rule(bytes);
                    if (i % 50 == 49) {
                        Thread.sleep(10);
                    }
                }
            }
            case "cpu" -> {
                long end = System.nanoTime() + number * 1_000_000_000L;
                while (System.nanoTime() < end) {
                    deep(60);
                }
            }
            case "allocate" -> {
                for (int i = 0; i < number * 16; i++) {
                    fill();
                }
            }
            case "mixed" -> {
                mixed(number);
                return;
            }
            case "exec" -> {
                System.load(System.getProperty("signals.library"));
                exec();
            }
            case "deflaters" -> {
                for (int i = 0; i < number; i++) {
                    deflater();
                    Thread.sleep(1);
                }
            }
            case "threads" -> {
                for (int i = 0; i < number; i++) {
                    Thread thread = new Thread(() -> burn(3_000_000));
                    thread.start();
                    thread.join();
                }
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
        Stage.result(args[0] + " " + number);
    }

    private static byte[] template() throws IOException {
        try (InputStream in = Observed.class.getResourceAsStream("ChurnVictim_0000000.class")) {
            return in.readAllBytes();
        }
    }

    static void rule(byte[] bytes) {
        kept = new Loader().define(bytes);
    }

    /** 260 KB of zlib's, never ended. */
    static void deflater() {
        Deflater deflater = new Deflater();
        deflater.setInput(new byte[1000]);
        deflater.finish();
        deflater.deflate(new byte[100]);
        NEVER_ENDED.add(deflater);
    }

    static void fill() {
        kept = new long[8192];
    }

    /** Another program takes the place of the JVM: sleep. */
    static native void exec();

    /** 32 bytes. */
    static final class Node {
        long left = sum;
        long right = sum;
    }

    /**
     * Three threads with a known number of objects of four classes, a quarter of the bytes each; one after
     * the other ends. The result is what the threads' own counters say, then the bytes of each class.
     */
    static void mixed(int megabytes) throws Exception {
        var counters = (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
        int rounds = (int) (megabytes * 1_000_000L / 3 / 4 / 100_016);
        long[] all = new long[3];
        Thread[] threads = new Thread[3];
        for (int i = 0; i < 3; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                long before = counters.getThreadAllocatedBytes(Thread.currentThread().getId());
                for (int round = 0; round < rounds; round++) {
                    kept = new byte[100_000];
                    for (int j = 0; j < 190; j++) {
                        kept = new long[64];
                    }
                    for (int j = 0; j < 25; j++) {
                        kept = new int[1000];
                    }
                    for (int j = 0; j < 3125; j++) {
                        kept = new Node();
                    }
                }
                all[number] = counters.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long each = 3L * rounds;
        Stage.result((all[0] + all[1] + all[2]) + " " + each * 100_016 + " " + each * 190 * 528 + " "
                + each * 25 * 4016 + " " + each * 3125 * 32);
    }

    static void deep(int depth) {
        if (depth > 0) {
            deep(depth - 1);
        } else {
            burn(200_000);
        }
    }

    static void burn(int rounds) {
        long value = rounds;
        for (int i = 0; i < rounds; i++) {
            value = value * 6364136223846793005L + i;
        }
        sum += value;
    }
}
