import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Ordinary work with a result that is the same every time: sorting, maps, text, streams,
 * exceptions, locks, reflection.
 *
 * <pre>Checksum ROUNDS [exit CODE | halt CODE]</pre>
 */
public final class Checksum {
    private static final Object LOCK = new Object();
    private static long shared;
    private static final int[] FOUR = {1, 2, 3, 4};

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        Thread[] threads = new Thread[2];
        Stage.ready();
        for (int t = 0; t < threads.length; t++) {
            int seed = t;
            threads[t] = new Thread(() -> work(seed, rounds), "worker-" + t);
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Stage.result(shared);
        if (args.length > 2 && args[1].equals("exit")) {
            System.exit(Integer.parseInt(args[2]));
        } else if (args.length > 2 && args[1].equals("halt")) {
            Runtime.getRuntime().halt(Integer.parseInt(args[2]));
        }
    }

    private static void work(int seed, int rounds) {
        for (int round = 0; round < rounds; round++) {
            long sum = sort(seed + round) + words(round) + exceptions(round) + reflection(round);
            synchronized (LOCK) {
                shared += sum;
            }
            Stage.rest();
        }
    }

    private static long sort(int seed) {
        Random random = new Random(seed);
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            numbers.add(random.nextInt());
        }
        Collections.sort(numbers);
        return numbers.get(17) * 31L + numbers.get(numbers.size() / 2);
    }

    private static long words(int round) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 3000; i++) {
            counts.merge("word" + (i * 7919 + round) % 400, 1, Integer::sum);
        }
        return counts.entrySet().stream().mapToLong(e -> (long) e.getKey().hashCode() * e.getValue())
                   .sum() + IntStream.range(0, 2000).filter(i -> i % 3 == 0).asLongStream().sum();
    }

    private static long exceptions(int round) {
        long sum = 0;
        for (int i = 0; i < 500; i++) {
            try {
                throwDeep(i % 40, round);
            } catch (IllegalStateException expected) {
                sum += expected.getStackTrace().length;
            }
            try {
                sum += FOUR[i % 6];
            } catch (ArrayIndexOutOfBoundsException expected) {
                sum += 1000;
            }
            try {
                sum += (i % 2 == 0 ? null : "text").length();
            } catch (NullPointerException expected) {
                sum += 100; // the JVM finds these by a SIGSEGV once the code is compiled
            }
        }
        return sum;
    }

    private static void throwDeep(int depth, int round) {
        if (depth == 0) {
            throw new IllegalStateException("round " + round);
        }
        throwDeep(depth - 1, round);
    }

    private static long reflection(int round) {
        try {
            long sum = 0;
            for (int i = 0; i < 200; i++) {
                sum += (long) Checksum.class.getDeclaredMethod("square", long.class)
                           .invoke(null, (long) i + round);
            }
            return sum;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static long square(long value) {
        return value * value;
    }
}
