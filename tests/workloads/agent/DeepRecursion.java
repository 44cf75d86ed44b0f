/**
 * Stacks that end in a StackOverflowError, again and again, and stacks deeper than the profiler
 * wants to see that work for a while.
 *
 * <pre>DeepRecursion ROUNDS</pre>
 */
public final class DeepRecursion {
    private static final int DEPTH = 3000;
    private static volatile long sink;

    public static void main(String[] args) throws InterruptedException {
        int rounds = Integer.parseInt(args[0]);
        long[] caught = new long[2];
        Thread[] threads = new Thread[2];
        Stage.ready();
        for (int t = 0; t < threads.length; t++) {
            int number = t;
            threads[t] = new Thread(null, () -> {
                for (int i = 0; i < rounds; i++) {
                    try {
                        sink = overflow(i);
                    } catch (StackOverflowError expected) {
                        caught[number]++;
                    }
                    caught[number] += deep(DEPTH) - DEPTH;
                }
            }, "deep-" + t, 1 << 20);
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Stage.result(caught[0] + caught[1]);
    }

    static long overflow(long value) {
        return overflow(value + 1) + 1;
    }

    static int deep(int depth) {
        return depth > 0 ? deep(depth - 1) + 1 : burn();
    }

    private static int burn() {
        long value = 1;
        for (int i = 0; i < 500_000; i++) {
            value = value * 6364136223846793005L + 1442695040888963407L;
        }
        return value == 0 ? 1 : 0;
    }
}
