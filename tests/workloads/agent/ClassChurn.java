import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;

/**
 * Classes that come, work for a moment and go: each in a loader of its own, every fourth one hidden,
 * under a new name each time. The result does not depend on who watches.
 *
 * <pre>ClassChurn COUNT [RATE]</pre>
 *
 * COUNT 0: for ever, until the process is killed. RATE: how many a second; without, as many as
 * there can be. With the property {@code letters} the names hold no number: no two of them look
 * alike.
 */
public final class ClassChurn {
    private static final String TEMPLATE = "ChurnVictim_0000000";
    private static final int THREADS = 2;

    public static void main(String[] args) throws Exception {
        Stage.ready();
        long[] result = churn(Integer.parseInt(args[0]), args.length > 1 ? Integer.parseInt(args[1]) : 0);
        Stage.result(result[0] + " " + result[1]);
    }

    /** How many lived, and what they came to. */
    static long[] churn(int count, int rate) throws IOException, InterruptedException {
        byte[] template = template();
        long[] sums = new long[THREADS];
        int[] lives = new int[THREADS];
        Thread[] threads = new Thread[THREADS];
        long begin = System.nanoTime();
        for (int t = 0; t < THREADS; t++) {
            int first = t;
            threads[t] = new Thread(() -> {
                for (int i = first; count == 0 || i < count; i += THREADS) {
                    sums[first] += live(template, i % 10_000_000);
                    lives[first]++;
                    if (rate > 0) {
                        pace(begin + i * 1_000_000_000L / rate);
                    }
                }
            }, "churn-" + t);
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return new long[] {lives[0] + lives[1], sums[0] + sums[1]};
    }

    private static void pace(long due) {
        long early = due - System.nanoTime();
        if (early > 1_000_000L) {
            LockSupport.parkNanos(early);
        }
    }

    private static long live(byte[] template, int number) {
        try {
            byte[] bytes = template.clone();
            rename(bytes, name(number));
            Class<?> made = number % 4 == 0
                ? MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass()
                : new Loader().define(bytes);
            if (number % 2000 == 0) {
                System.gc(); // a large heap would keep them all to the end
            }
            return ((LongUnaryOperator) made.getDeclaredConstructor().newInstance())
                .applyAsLong(number);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String name(int number) {
        String digits = String.format("%07d", number);
        if (System.getProperty("letters") == null) {
            return "ChurnVictim_" + digits;
        }
        StringBuilder letters = new StringBuilder("ChurnVictim_");
        digits.chars().forEach(digit -> letters.append((char) ('p' + digit - '0')));
        return letters.toString();
    }

    private static byte[] template() throws IOException {
        try (InputStream in = ClassChurn.class.getResourceAsStream(TEMPLATE + ".class")) {
            return in.readAllBytes();
        }
    }

    /** A name of the same length, wherever the old one stands. */
    private static void rename(byte[] bytes, String name) {
        byte[] from = TEMPLATE.getBytes(StandardCharsets.US_ASCII);
        byte[] to = name.getBytes(StandardCharsets.US_ASCII);
        for (int at = 0; at + from.length <= bytes.length; at++) {
            int same = 0;
            while (same < from.length && bytes[at + same] == from[same]) {
                same++;
            }
            if (same == from.length) {
                System.arraycopy(to, 0, bytes, at, to.length);
            }
        }
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(ClassChurn.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }
}
