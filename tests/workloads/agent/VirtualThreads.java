import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads (JDK 21 and later; by reflection, so that this compiles for 17) that park deep in
 * their stacks and compute when they come back: their innermost frames return into the JVM, which
 * fetches the rest. Usage: VirtualThreads SECONDS [THREADS]
 */
public class VirtualThreads {
    private static volatile long sink;
    private static volatile boolean done;

    public static void main(String[] args) throws Exception {
        var start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 500;
        var all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int seed = i;
            all[i] = (Thread) start.invoke(null, (Runnable) () -> live(seed));
        }
        Thread.sleep(1000 * Long.parseLong(args[0]));
        done = true;
        for (var thread : all)
            thread.join();
        System.out.println("sum " + (sink != 0));
    }

    private static void live(int seed) {
        for (int round = seed; !done; round++)
            sink += descend(10 + round % 60, round);
    }

    /* Computes on the way down and on the way up; parks at the bottom. */
    private static long descend(int depth, long value) {
        if (depth == 0) {
            LockSupport.parkNanos(100_000 + ThreadLocalRandom.current().nextInt(1_000_000));
            return compute(value);
        }
        long below = depth % 7 == 0 ? spread(depth - 1, value) : descend(depth - 1, value + depth);
        return depth % 3 == 0 ? below + compute(below) : below + 1;
    }

    private static synchronized long guarded(long value) {
        return value * 31 + 7;
    }

    private static long spread(int depth, long value) {
        return descend(depth, guarded(value));
    }

    private static long compute(long value) {
        long sum = value;
        for (int i = 0; i < 2000; i++)
            sum = Long.rotateLeft(sum * 0x9E3779B97F4A7C15L + i, 13) ^ mix(sum);
        return sum;
    }

    private static long mix(long value) {
        return value ^ (value >>> 29);
    }
}
