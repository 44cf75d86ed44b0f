package workloads;

import java.nio.ByteBuffer;
import java.util.Random;

/**
 * A cache outside the heap that warms up and then stops at its bound: keys are drawn at random, a
 * key seen for the first time adds its entry, so growth is K(1 - exp(-t R/K)) and ends by itself.
 *
 * <pre>
 *   WarmingCache direct|classes [--keys K] [--rate R] [--at S] [--seconds S]
 * </pre>
 *
 * An entry is a direct buffer of 16 KB, or a generated class in a loader of its own. --at loads all
 * of it at once at this second instead: a step. Prints "ready".
 */
public final class WarmingCache {
    private static final int BUFFER_BYTES = 16 * 1024;

    public static void main(String[] args) throws Exception {
        boolean direct = args[0].equals("direct");
        int keys = 1000;
        double rate = 10;
        double at = -1;
        double seconds = 600;
        for (int i = 1; i + 1 < args.length; i += 2) {
            switch (args[i]) {
            case "--keys": keys = Integer.parseInt(args[i + 1]); break;
            case "--rate": rate = Double.parseDouble(args[i + 1]); break;
            case "--at": at = Double.parseDouble(args[i + 1]); break;
            case "--seconds": seconds = Double.parseDouble(args[i + 1]); break;
            default: throw new IllegalArgumentException(args[i]);
            }
        }
        System.out.println("ready");

        Object[] cache = new Object[keys];
        Random random = new Random(1);
        long began = System.nanoTime();
        long asked = 0;
        for (double now = 0; now < seconds; now = (System.nanoTime() - began) / 1e9) {
            if (at < 0) {
                for (; asked < now * rate; asked++) {
                    look(cache, random.nextInt(keys), direct);
                }
            } else if (now >= at) {
                for (int key = 0; key < keys; key++) {
                    look(cache, key, direct);
                }
            }
            Thread.sleep(20);
        }
    }

    private static void look(Object[] cache, int key, boolean direct) throws Exception {
        if (cache[key] == null) {
            String name = StartupClasses.name(key);
            cache[key] = direct ? ByteBuffer.allocateDirect(BUFFER_BYTES)
                : new DefiningLoader().define(name, ClassBytes.of(name, 10))
                    .getDeclaredConstructor().newInstance();
        }
    }

    private WarmingCache() {
    }
}
