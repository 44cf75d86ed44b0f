package workloads;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * An application that measures its own stalls: it sleeps a millisecond again and again and notes the
 * longest time that passed from one round to the next.
 *
 * <pre>
 *   GapMeter [--seconds S] [--classes N] [--out FILE]
 * </pre>
 *
 * --classes makes class lists long. FILE holds the largest gap so far in milliseconds, renewed every
 * second; delete it to start over. Prints "ready", and "max_gap_ms N" at the end.
 */
public final class GapMeter {
    public static void main(String[] args) throws IOException, InterruptedException {
        long seconds = 60;
        int classes = 0;
        Path out = null;
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
            case "--seconds": seconds = Long.parseLong(args[i + 1]); break;
            case "--classes": classes = Integer.parseInt(args[i + 1]); break;
            case "--out": out = Path.of(args[i + 1]); break;
            default: throw new IllegalArgumentException(args[i]);
            }
        }
        Object alive = StartupClasses.define(classes);
        System.out.println("ready");

        long began = System.nanoTime();
        long last = began;
        long written = began;
        long maxGap = 0;
        while (last - began < seconds * 1_000_000_000L) {
            Thread.sleep(1);
            long now = System.nanoTime();
            maxGap = Math.max(maxGap, now - last);
            last = now;
            if (out != null && now - written > 1_000_000_000L) {
                if (written != began && !Files.exists(out)) {
                    maxGap = 0;
                }
                Path next = Path.of(out + ".new");
                Files.writeString(next, maxGap / 1_000_000 + "\n");
                Files.move(next, out, StandardCopyOption.REPLACE_EXISTING);
                written = now;
                last = System.nanoTime(); // the time it took to write is not a gap
            }
        }
        System.out.println("max_gap_ms " + maxGap / 1_000_000);
        if (alive.hashCode() == 0) {
            System.out.println();
        }
    }
}
