import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/**
 * Many threads that live, many that end, all of them with names of their own.
 *
 * <pre>ManyThreads LIVE ENDED NAMES</pre>
 *
 * Says "ready" when LIVE threads wait, and goes on when the file of the property {@code go} is there:
 * they are all given another name by the main thread (the kernel keeps the old one), each allocates,
 * then ENDED further threads start, allocate and end, at most 50 at a time. The file NAMES says which
 * name belongs to which thread id: "TID NAME". With the file of the property {@code rename} the threads
 * that live also give themselves a new name every 250 ms from then on; what they end in stays the same.
 */
public final class ManyThreads {
    private static final Path SELF = Path.of("/proc/thread-self");
    private static final int AT_A_TIME = 50;
    private static volatile byte[] kept;

    public static void main(String[] args) throws Exception {
        int live = Integer.parseInt(args[0]);
        int ended = Integer.parseInt(args[1]);
        Thread[] threads = new Thread[live];
        CountDownLatch waiting = new CountDownLatch(live);
        CountDownLatch allocated = new CountDownLatch(live);
        CountDownLatch renamed = new CountDownLatch(1);
        try (PrintStream names = new PrintStream(args[2])) {
            for (int i = 0; i < live; i++) {
                int number = i;
                threads[i] = new Thread(null, () -> {
                    waiting.countDown();
                    await(renamed);
                    print(names);
                    allocate();
                    allocated.countDown();
                    renameForEver(number);
                }, "first-name-of-" + i, 256 << 10);
                threads[i].setDaemon(true);
                threads[i].start();
            }
            waiting.await();
            Stage.ready();
            Stage.waitFor("go");
            for (int i = 0; i < live; i++) {
                threads[i].setName("another-rather-long-name-" + i);
            }
            renamed.countDown();
            allocated.await();
            Thread[] some = new Thread[AT_A_TIME];
            for (int i = 0; i < ended + AT_A_TIME; i++) {
                if (some[i % AT_A_TIME] != null) {
                    some[i % AT_A_TIME].join();
                }
                some[i % AT_A_TIME] = i >= ended ? null : new Thread(null, () -> {
                    print(names);
                    allocate();
                }, "one-of-those-that-end-" + i, 256 << 10);
                if (i < ended) {
                    some[i % AT_A_TIME].start();
                }
            }
            names.flush();
            Stage.result(live + ended);
        }
    }

    private static void print(PrintStream names) {
        try {
            String tid = Files.readSymbolicLink(SELF).getFileName().toString();
            names.println(tid + " " + Thread.currentThread().getName());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void allocate() {
        kept = new byte[256 << 10];
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void renameForEver(int number) {
        boolean renames = System.getProperty("rename") != null;
        for (int i = 0;; i++) {
            try {
                Thread.sleep(renames ? 250 : 1_000_000);
            } catch (InterruptedException e) {
                return;
            }
            Thread.currentThread().setName(i + " another-rather-long-name-" + number);
        }
    }
}
