/**
 * An application that has native code with signals of its own: a handler for SIGPROF, a ticking
 * SIGALRM, and threads of the C library that call into Java.
 *
 * <pre>Signals SECONDS before|after</pre>
 *
 * before: its handler is there before the profiler; after: it comes when the profiler runs, when the
 * file of the property go exists. Prints how many SIGPROF of its own it sent and its handler saw.
 */
public final class Signals {
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        System.load(System.getProperty("signals.library"));
        boolean before = args[1].equals("before");
        if (before) {
            install();
        }
        Stage.ready();
        Stage.waitFor("go");
        if (!before) {
            install();
        }
        tick(true);
        long sent = 0;
        while (System.nanoTime() - end < 0) {
            sent += raise();
            sink = burnInC(Signals.class, sink);
            callBackFromNewThread(Signals.class);
        }
        tick(false);
        Stage.result("sent " + sent + " seen " + seen() + " calls " + calls);
    }

    private static int calls;

    /** Called from C, at times on a thread that Java did not make. */
    static synchronized void called() {
        for (int i = 0; i < 10_000; i++) {
            sink = sink * 6364136223846793005L + 1442695040888963407L;
        }
        calls++;
    }

    private static native void install();

    private static native void tick(boolean on);

    private static native long raise();

    private static native long burnInC(Class<?> self, long value);

    private static native void callBackFromNewThread(Class<?> self);

    private static native long seen();
}
