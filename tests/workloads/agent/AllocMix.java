import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Allocates a known mix, from 16 bytes to 4 MB, each size as a class of its own and the same number
 * of bytes of each, and prints the truth about it: by class from what was allocated, in all as the
 * JVM counts it.
 *
 * <pre>AllocMix MEGABYTES_OF_EACH [THREADS [SECONDS]]</pre>
 *
 * With SECONDS it does the same amount again and again, slowly, and prints nothing.
 */
public final class AllocMix {
    private static final ThreadMXBean THREADS =
            (ThreadMXBean) ManagementFactory.getThreadMXBean();
    /** What is stored here escapes: C2 cannot do without the object. */
    private static volatile Object sink;

    static final class Bytes16 {
        int a;
    }

    static final class Bytes24 {
        int a, b, c;
    }

    static final class Bytes80 {
        long a, b, c, d, e, f, g, h;
        int i;
    }

    private interface Maker {
        Object make();
    }

    private enum Kind {
        OBJECT_16("AllocMix$Bytes16", 16, Bytes16::new),
        OBJECT_24("AllocMix$Bytes24", 24, Bytes24::new),
        OBJECT_80("AllocMix$Bytes80", 80, Bytes80::new),
        BYTES("byte[]", 1024, () -> new byte[1024 - 16]),
        SHORTS("short[]", 16 << 10, () -> new short[((16 << 10) - 16) / 2]),
        CHARS("char[]", 100 << 10, () -> new char[((100 << 10) - 16) / 2]),
        INTS("int[]", 512 << 10, () -> new int[((512 << 10) - 16) / 4]),
        FLOATS("float[]", 1 << 20, () -> new float[((1 << 20) - 16) / 4]),
        LONGS("long[]", 4 << 20, () -> new long[((4 << 20) - 16) / 8]);

        final String name;
        final long size;
        final Maker maker;

        Kind(String name, long size, Maker maker) {
            this.name = name;
            this.size = size;
            this.maker = maker;
        }
    }

    private static final Kind[] KINDS = Kind.values();
    private static final AtomicLongArray MADE = new AtomicLongArray(KINDS.length);

    public static void main(String[] args) throws Exception {
        long bytes = Long.parseLong(args[0]) << 20;
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 2;
        long seconds = args.length > 2 ? Long.parseLong(args[2]) : 0;
        Stage.ready();
        Stage.waitFor("go");
        long[] truth = new long[threads];
        Thread[] workers = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            int number = t;
            workers[t] = new Thread(() -> {
                long id = Thread.currentThread().getId();
                long end = System.nanoTime() + seconds * 1_000_000_000L;
                do {
                    mix(bytes / threads, number);
                } while (System.nanoTime() < end);
                truth[number] = THREADS.getThreadAllocatedBytes(id);
            }, "alloc-" + t);
            workers[t].start();
        }
        long total = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
        for (int t = 0; t < threads; t++) {
            workers[t].join();
            total += truth[t];
        }
        StringBuilder text = new StringBuilder("total=" + total);
        for (int k = 0; k < KINDS.length; k++) {
            text.append(' ').append(KINDS[k].name).append('=')
                    .append(MADE.get(k) * KINDS[k].size);
        }
        Stage.result(text);
    }

    /** Of each kind so many bytes, the kinds taking turns at random. */
    private static void mix(long bytes, long seed) {
        long[] left = new long[KINDS.length];
        long all = 0;
        for (int k = 0; k < KINDS.length; k++) {
            left[k] = bytes / KINDS[k].size;
            all += left[k];
        }
        long state = seed * 31 + 17;
        while (all > 0) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            long at = Long.remainderUnsigned(state >>> 11, all);
            int k = 0;
            while (at >= left[k]) {
                at -= left[k++];
            }
            left[k]--;
            all--;
            sink = KINDS[k].maker.make();
        }
        for (int k = 0; k < KINDS.length; k++) {
            MADE.addAndGet(k, bytes / KINDS[k].size);
        }
    }
}
