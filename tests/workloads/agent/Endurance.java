import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * All that is hard on a stack walker at once and at a steady pace, for as long as it takes: classes
 * that come and go, exceptions, null pointers, stacks that overflow, deep stacks, garbage, and full
 * collections between.
 *
 * <pre>Endurance CLASSES RATE</pre>
 *
 * Prints the classes it loaded, those the JVM unloaded, the seconds it took, the stacks that
 * overflowed, the null pointers, and what came out wrong.
 */
public final class Endurance {
    private static final int DEPTH = 2000;
    private static final AtomicLong overflows = new AtomicLong(), nulls = new AtomicLong(),
        wrong = new AtomicLong();
    private static volatile boolean done;
    private static volatile Object sink;

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        int rate = Integer.parseInt(args[1]);
        var side = new Thread[] {
            new Thread(null, () -> often(Endurance::overflow, 100), "overflows", 1 << 20),
            new Thread(null, () -> often(Endurance::deep, 20), "deep", 1 << 22),
            new Thread(() -> often(Endurance::nullPointer, 5), "null-pointers"),
            new Thread(() -> often(Endurance::garbage, 2), "garbage"),
        };
        Stage.ready();
        long begin = System.nanoTime();
        for (Thread thread : side) {
            thread.start();
        }
        long loaded = ClassChurn.churn(count, rate)[0];
        long took = (System.nanoTime() - begin) / 1_000_000_000L;
        done = true;
        for (Thread thread : side) {
            thread.join();
        }
        System.gc();
        long unloaded = ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount();
        Stage.result(loaded + " " + unloaded + " " + took + " " + overflows + " " + nulls + " " + wrong);
    }

    private static void often(Runnable work, int millis) {
        try {
            while (!done) {
                work.run();
                Thread.sleep(millis);
            }
        } catch (InterruptedException | RuntimeException e) {
            e.printStackTrace();
            wrong.incrementAndGet();
        }
    }

    private static void overflow() {
        try {
            sink = DeepRecursion.overflow(0);
            wrong.incrementAndGet();
        } catch (StackOverflowError expected) {
            overflows.incrementAndGet();
        }
    }

    private static void deep() {
        if (DeepRecursion.deep(DEPTH) != DEPTH) {
            wrong.incrementAndGet();
        }
    }

    /* The hardware checks, until the compiler has seen too many: the array is of another class now
     * and then. */
    private static void nullPointer() {
        Object[] links = nulls.get() % 3 == 0 ? new Integer[64] : new Object[64];
        links[0] = 1;
        long sum = 0;
        try {
            for (Object link : links) {
                sum += link.hashCode();
            }
            wrong.addAndGet(sum);
        } catch (NullPointerException expected) {
            nulls.incrementAndGet();
        }
    }

    private static void garbage() {
        var kept = new Object[16];
        for (int i = 0; i < 200; i++) {
            kept[i % kept.length] = new byte[64 + i * 8];
        }
        sink = kept;
    }

    private Endurance() {
    }
}
