import nmtagent.Context;

/**
 * Work with a context: threads burn CPU for two kinds of requests, so that samples can be kept
 * apart by their fields.
 *
 * <pre>ContextLoad [SECONDS] [THREADS]</pre>
 *
 * The recording has to be started with {@code context=route;tenant}.
 */
public final class ContextLoad {
    private static volatile long sink;

    public static void main(String[] args) throws InterruptedException {
        long seconds = args.length > 0 ? Long.parseLong(args[0]) : 10;
        int count = args.length > 1 ? Integer.parseInt(args[1]) : 2;
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            int number = i;
            threads[i] = new Thread(() -> serve(number, end), "worker-" + i);
            threads[i].start();
        }
        System.out.println("ready");
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void serve(int thread, long end) {
        long request = 0;
        while (System.nanoTime() - end < 0) {
            request++;
            boolean search = request % 2 == 0;
            Context.set(request, thread + 1L);
            Context.setTag(Context.tag("route"), Context.value(search ? "/search" : "/buy"));
            Context.setTag(Context.tag("tenant"), Context.value("tenant-" + thread));
            try {
                if (search) {
                    search();
                } else {
                    buy();
                }
            } finally {
                Context.clear();
            }
        }
    }

    private static void search() {
        burn(3_000_000);
    }

    private static void buy() {
        burn(1_000_000);
    }

    private static void burn(int rounds) {
        long value = sink;
        for (int i = 0; i < rounds; i++) {
            value = value * 6364136223846793005L + 1442695040888963407L;
        }
        sink = value;
    }
}
