import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Faults that the JVM makes Java of, while it is sampled: null pointers without a check in compiled
 * code, stacks that overflow, and pages of a mapped file that is shorter than its map.
 *
 * <pre>Faults SECONDS FILE</pre>
 *
 * Ends after that time when there were enough of each, a minute later at most. Prints how many came out right; the last thread throws away code for others to deoptimise.
 */
public final class Faults {
    private static final int PAGE = 4096, PAGES = 64;
    private static final long[] ENOUGH = {2000, 50, 200, 200};
    private static final AtomicLongArray counts = new AtomicLongArray(ENOUGH.length);
    private static volatile boolean done;
    private static volatile long sink;

    private Faults next;
    private int value;

    public static void main(String[] args) throws Exception {
        var threads = new Thread[] {
            new Thread(Faults::nullPointers, "null-pointers"),
            new Thread(null, Faults::overflows, "overflows", 1 << 20),
            new Thread(() -> truncated(Path.of(args[1])), "truncated"),
            new Thread(Faults::recompiled, "recompiled"),
        };
        Stage.ready();
        for (var thread : threads)
            thread.start();
        Thread.sleep((long) (1000 * Double.parseDouble(args[0])));
        for (int more = 0; more < 3000 && !isEnough(); more++)
            Thread.sleep(20);
        done = true;
        for (var thread : threads)
            thread.join();
        Stage.result(counts.get(0) + " " + counts.get(1) + " " + counts.get(2) + " " + counts.get(3));
    }

    private static boolean isEnough() {
        for (int i = 0; i < ENOUGH.length; i++)
            if (counts.get(i) < ENOUGH[i])
                return false;
        return true;
    }

    /* The compiler leaves the check to the hardware as long as it does not see many nulls: each
     * chain is of another shape. */
    private static void nullPointers() {
        for (int length = 1; !done; length = length % 50 + 1) {
            Faults chain = null;
            for (int i = 0; i < length; i++) {
                var link = new Faults();
                link.next = chain;
                chain = link;
            }
            try {
                for (Faults at = chain;; at = at.next)
                    sink += at.value;
            } catch (NullPointerException expected) {
                counts.incrementAndGet(0);
            }
        }
    }

    private static long overflow(long depth) {
        return overflow(depth + 1) + 1;
    }

    private static void overflows() {
        while (!done) {
            try {
                sink += overflow(0);
            } catch (StackOverflowError expected) {
                counts.incrementAndGet(1);
            }
        }
    }

    private static int read(MappedByteBuffer map, int at) {
        return map.get(at);
    }

    /* Compiled code learns of a fault some instructions later: anywhere in here. */
    private static void truncate(RandomAccessFile open) throws IOException {
        open.setLength((long) PAGES * PAGE);
        var map =
            open.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, (long) PAGES * PAGE);
        for (int i = 0; i < PAGES * PAGE; i += 64)
            sink += read(map, i);
        open.setLength(PAGE);
        for (int page = 1; page < PAGES; page++)
            sink += read(map, page * PAGE);
    }

    private static void truncated(Path file) {
        try {
            while (!done) {
                try (var open = new RandomAccessFile(file.toFile(), "rw")) {
                    truncate(open);
                } catch (InternalError expected) {
                    counts.incrementAndGet(2);
                }
            }
            Files.delete(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Shape {
        int area(int side);
    }

    /* Compiled for one shape, until another one comes. */
    private static void recompiled() {
        Shape[] shapes = {side -> side * side, side -> side * 3, side -> side ^ 5, side -> -side};
        while (!done) {
            Shape shape = shapes[(int) (counts.getAndIncrement(3) / 20_000 % shapes.length)];
            for (int i = 0; i < 1000; i++)
                sink += shape.area(i);
        }
    }
}
