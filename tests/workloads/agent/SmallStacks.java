/**
 * Native threads with a small alternate signal stack call into Java.
 *
 * <pre>SmallStacks SECONDS BYTES...</pre>
 *
 * One after another; below each stack lies a page that nobody may touch. Prints of each how many bytes of
 * it signals have used, or that the kernel refused it.
 */
public final class SmallStacks {
    private static volatile long sink;
    private static long end;

    public static void main(String[] args) throws Exception {
        System.load(System.getProperty("signals.library"));
        Stage.ready();
        Stage.waitFor("go");
        StringBuilder used = new StringBuilder();
        for (int i = 1; i < args.length; i++) {
            end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
            used.append(i > 1 ? " " : "").append(args[i]).append(':')
                    .append(runOnStack(SmallStacks.class, Long.parseLong(args[i])));
        }
        Stage.result(used);
    }

    /** Called from C. */
    static void called() {
        while (System.nanoTime() - end < 0) {
            deeper(40);
        }
    }

    private static long deeper(int depth) {
        for (int i = 0; i < 200; i++) {
            sink = sink * 6364136223846793005L + 1442695040888963407L;
        }
        return depth > 0 ? deeper(depth - 1) + 1 : sink;
    }

    /** Bytes used; -1: refused. */
    private static native long runOnStack(Class<?> self, long bytes);
}
