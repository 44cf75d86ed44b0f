import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Faults that the JVM makes Java of, while it is sampled: null pointers without a check in compiled
 * code, stacks that overflow, and pages of a mapped file that is shorter than its map.
 *
 * <pre>Faults SECONDS FILE</pre>
 *
 * Prints how many of each came out right; the last thread throws away code for others to deoptimise.
 */
public final class Faults {
    private static final int PAGE = 4096, PAGES = 64;
    private static volatile boolean done;
    private static volatile long sink;

    private Faults next;
    private int value;

    public static void main(String[] args) throws Exception {
        long[] counts = new long[4];
        var threads = new Thread[] {
            new Thread(() -> counts[0] = nullPointers(), "null-pointers"),
            new Thread(null, () -> counts[1] = overflows(), "overflows", 1 << 20),
            new Thread(() -> counts[2] = truncated(Path.of(args[1])), "truncated"),
            new Thread(() -> counts[3] = recompiled(), "recompiled"),
        };
        Stage.ready();
        for (var thread : threads)
            thread.start();
        Thread.sleep(1000 * Long.parseLong(args[0]));
        done = true;
        for (var thread : threads)
            thread.join();
        Stage.result(counts[0] + " " + counts[1] + " " + counts[2] + " " + counts[3]);
    }

    /* The compiler leaves the check to the hardware as long as it does not see many nulls: each
     * chain is of another shape. */
    private static long nullPointers() {
        long caught = 0;
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
                caught++;
            }
        }
        return caught;
    }

    private static long overflow(long depth) {
        return overflow(depth + 1) + 1;
    }

    private static long overflows() {
        long caught = 0;
        while (!done) {
            try {
                sink += overflow(0);
            } catch (StackOverflowError expected) {
                caught++;
            }
        }
        return caught;
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

    private static long truncated(Path file) {
        long caught = 0;
        try {
            while (!done) {
                try (var open = new RandomAccessFile(file.toFile(), "rw")) {
                    truncate(open);
                } catch (InternalError expected) {
                    caught++;
                }
            }
            Files.delete(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return caught;
    }

    private interface Shape {
        int area(int side);
    }

    /* Compiled for one shape, until another one comes. */
    private static long recompiled() {
        long rounds = 0;
        Shape[] shapes = {side -> side * side, side -> side * 3, side -> side ^ 5, side -> -side};
        while (!done) {
            Shape shape = shapes[(int) (rounds++ / 20_000 % shapes.length)];
            for (int i = 0; i < 1000; i++)
                sink += shape.area(i);
        }
        return rounds;
    }
}
