/**
 * Makes two objects in the same loop: one that C2 keeps out of the heap, and one that escapes. Says
 * "ready" when the loop has long been compiled.
 *
 * <pre>AllocEscape</pre>
 */
public final class AllocEscape {
    private static volatile Object sink;

    static final class Gone {
        final long a, b;

        Gone(long a, long b) {
            this.a = a;
            this.b = b;
        }

        long sum() {
            return a + b;
        }
    }

    static final class Kept {
        long a;
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + 3_000_000_000L, sum = 0;
        while (System.nanoTime() < end) {
            sum += both(100_000);
        }
        Stage.ready();
        for (;;) {
            sum += both(100_000);
            Thread.sleep(sum == 42 ? 0 : 1);
        }
    }

    private static long both(int times) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += new Gone(i, sum).sum();
            if (i % 16 == 0) {
                sink = new Kept();
            }
        }
        return sum;
    }
}
