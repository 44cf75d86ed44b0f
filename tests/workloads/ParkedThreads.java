package workloads;

import java.util.concurrent.locks.LockSupport;

/**
 * So many threads that wait so deep in their stacks, for measurements.
 *
 * <pre>ParkedThreads THREADS DEPTH</pre>
 *
 * Prints "ready", starts them at a line of standard input, prints "loaded", ends at another one.
 */
public final class ParkedThreads {
    public static void main(String[] args) throws Exception {
        int depth = Integer.parseInt(args[1]);
        say("ready");
        for (int i = Integer.parseInt(args[0]); i > 0; i--) {
            Thread thread = new Thread(() -> park(depth));
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(1500);
        say("loaded");
    }

    private static int park(int depth) {
        if (depth > 0) {
            return 1 + park(depth - 1);
        }
        while (true) {
            LockSupport.park();
        }
    }

    private static void say(String word) throws java.io.IOException {
        System.out.println(word);
        int read;
        do {
            read = System.in.read();
            if (read < 0) {
                System.exit(1);
            }
        } while (read != '\n');
    }

    private ParkedThreads() {
    }
}
