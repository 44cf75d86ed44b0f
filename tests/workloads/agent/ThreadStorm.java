import java.util.concurrent.atomic.AtomicLong;

/**
 * Threads that start, work for a moment and end; a few hundred of them at a time.
 *
 * <pre>ThreadStorm COUNT</pre>
 */
public final class ThreadStorm {
    private static final int AT_A_TIME = 250;

    public static void main(String[] args) throws InterruptedException {
        int count = Integer.parseInt(args[0]);
        AtomicLong done = new AtomicLong();
        Thread[] threads = new Thread[AT_A_TIME];
        Stage.ready();
        for (int i = 0; i < count; i++) {
            int at = i % AT_A_TIME;
            if (threads[at] != null) {
                threads[at].join();
            }
            threads[at] = new Thread(() -> done.addAndGet(burn()), "storm-" + i);
            threads[at].start();
        }
        for (Thread thread : threads) {
            if (thread != null) {
                thread.join();
            }
        }
        Stage.result(done.get());
    }

    private static int burn() {
        long value = 1;
        for (int i = 0; i < 2_000_000; i++) {
            value = value * 6364136223846793005L + 1442695040888963407L;
        }
        return value == 0 ? 0 : 1;
    }
}
