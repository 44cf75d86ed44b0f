package nmtagent;

/**
 * What the current thread works for: the ids of a span and up to ten tags, which are fields of
 * each sample that nmtwatch's agent takes of this thread.
 *
 * <p>Copy this file into your application; it needs nothing else. Without the agent every method
 * returns at once; an agent that is loaded later is noticed within a second. Values belong to the
 * thread that sets them: a task that moves to another thread sets them there again. With virtual
 * threads they belong to the carrier, so do not use it there.
 */
public final class Context {
    private static final long PROBE_INTERVAL_NS = 1_000_000_000L;
    private static volatile boolean present;
    private static volatile long nextProbe = System.nanoTime();

    private Context() {}

    /** Whether the agent is in this JVM. */
    public static boolean isPresent() {
        return present || probe();
    }

    /** The number of a tag that the agent's option {@code context=} names, or -1. Ask again after
     * a recording has started. */
    public static int tag(String name) {
        return isPresent() ? tag0(name) : -1;
    }

    /** The number of a value: ask once, keep it. 0 when there is no agent or no room. */
    public static int value(String text) {
        return isPresent() ? value0(text) : 0;
    }

    public static void set(long spanId, long rootSpanId) {
        if (isPresent()) {
            set0(spanId, rootSpanId);
        }
    }

    /** Ignored for a tag that is not known (-1). */
    public static void setTag(int tag, int value) {
        if (isPresent()) {
            setTag0(tag, value);
        }
    }

    public static void clear() {
        if (isPresent()) {
            clear0();
        }
    }

    private static boolean probe() {
        if (System.nanoTime() - nextProbe < 0) {
            return false;
        }
        // Those who come while another thread looks wait for what it finds.
        synchronized (Context.class) {
            long now = System.nanoTime();
            if (present || now - nextProbe < 0) {
                return present;
            }
            try {
                present = present0();
            } catch (UnsatisfiedLinkError withoutAgent) {
                present = false;
            }
            nextProbe = now + PROBE_INTERVAL_NS;
        }
        return present;
    }

    private static native boolean present0();

    private static native int tag0(String name);

    private static native int value0(String text);

    private static native void set0(long spanId, long rootSpanId);

    private static native void setTag0(int tag, int value);

    private static native void clear0();
}
