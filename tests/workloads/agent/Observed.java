import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Work that is known beforehand, for who looks from outside. It begins when the file {@code -Dgo=FILE} is
 * there.
 *
 * <pre>
 * Observed classes COUNT | cpu SECONDS | allocate MEGABYTES | mixed MEGABYTES | threads COUNT | memory THREADS
 *     | exec 0
 * </pre>
 */
public final class Observed {
    static final List<Object> NEVER_ENDED = new ArrayList<>();
    static volatile Object kept;
    static volatile long sum;
    static byte[] packed;

    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    public static void main(String[] args) throws Exception {
        int number = Integer.parseInt(args[1]);
        byte[] bytes = template();
        if (args[0].equals("memory")) {
            System.load(System.getProperty("library"));
            packed = packed();
        }
        new Loader().define(bytes);
        Stage.ready();
        Stage.waitFor("go");
        switch (args[0]) {
            case "classes" -> {
                for (int i = 0; i < number; i++) {
                    rule(bytes);
                    if (i % 50 == 49) {
                        Thread.sleep(Integer.getInteger("pause", 10));
                    }
                }
            }
            case "cpu" -> {
                long end = System.nanoTime() + number * 1_000_000_000L;
                while (System.nanoTime() < end && !Stage.isThere("enough")) {
                    for (long next = System.nanoTime() + 50_000_000L; System.nanoTime() < next;) {
                        deep(60);
                    }
                    if (Stage.isThere("calm")) {
                        Stage.rest();
                    }
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
            case "memory" -> {
                scattered(number);
                for (int i = 0; i < 64; i++) {
                    deflater();
                    for (int j = 0; j < 4; j++) {
                        inflater();
                        leak(64 << 10);
                    }
                    for (int j = 0; j < 16; j++) {
                        NEVER_ENDED.add(new Loader().define(bytes));
                    }
                    if (i % 4 == 0) {
                        buffer();
                    }
                    Thread.sleep(15);
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

    /** 90 KB of zlib's, never ended. */
    static void deflater() {
        Deflater deflater = new Deflater();
        deflater.setInput(new byte[1000]);
        deflater.finish();
        deflater.deflate(new byte[100]);
        NEVER_ENDED.add(deflater);
    }

    /** 40 KB of zlib's, never ended. */
    static void inflater() throws DataFormatException {
        Inflater inflater = new Inflater();
        inflater.setInput(packed);
        inflater.inflate(new byte[60_000]);
        NEVER_ENDED.add(inflater);
    }

    private static byte[] packed() {
        Deflater deflater = new Deflater();
        byte[] out = new byte[100_000];
        byte[] plain = new byte[100_000];
        new java.util.Random(1).nextBytes(plain);
        deflater.setInput(plain);
        deflater.finish();
        int bytes = deflater.deflate(out);
        deflater.end();
        return java.util.Arrays.copyOf(out, bytes);
    }

    static void buffer() {
        NEVER_ENDED.add(ByteBuffer.allocateDirect(1 << 20));
    }

    /** 256 KB of each thread's, of which it frees most; all live at the same time. */
    static void scattered(int threads) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(threads), end = new CountDownLatch(1);
        for (int i = 0; i < threads; i++) {
            new Thread(() -> {
                scatter(32);
                done.countDown();
                try {
                    end.await();
                } catch (InterruptedException e) {
                    return;
                }
            }).start();
            Thread.sleep(5);
        }
        done.await();
        end.countDown();
    }

    /** Of libnative_leak.so. */
    static native void leak(int bytes);

    static native void scatter(int blocks);

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
