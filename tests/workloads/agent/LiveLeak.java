import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A map that only grows, of objects of one kilobyte, beside a hundred times as much garbage.
 *
 * <pre>LiveLeak LEAKED_PER_MS</pre>
 *
 * Ends growing at -Dkept=NUMBER of them (100 000).
 */
public final class LiveLeak {
    private static final int KEPT_MAX = Integer.getInteger("kept", 100_000);
    private static final Map<Integer, Leaky> KEPT = new HashMap<>();
    private static volatile Object garbage;

    /** 1 016 bytes with its header. */
    static final class Leaky {
        long v0_0, v0_1, v0_2, v0_3, v0_4, v0_5, v0_6, v0_7, v0_8, v0_9, v0_10, v0_11, v0_12, v0_13;
        long v1_0, v1_1, v1_2, v1_3, v1_4, v1_5, v1_6, v1_7, v1_8, v1_9, v1_10, v1_11, v1_12, v1_13;
        long v2_0, v2_1, v2_2, v2_3, v2_4, v2_5, v2_6, v2_7, v2_8, v2_9, v2_10, v2_11, v2_12, v2_13;
        long v3_0, v3_1, v3_2, v3_3, v3_4, v3_5, v3_6, v3_7, v3_8, v3_9, v3_10, v3_11, v3_12, v3_13;
        long v4_0, v4_1, v4_2, v4_3, v4_4, v4_5, v4_6, v4_7, v4_8, v4_9, v4_10, v4_11, v4_12, v4_13;
        long v5_0, v5_1, v5_2, v5_3, v5_4, v5_5, v5_6, v5_7, v5_8, v5_9, v5_10, v5_11, v5_12, v5_13;
        long v6_0, v6_1, v6_2, v6_3, v6_4, v6_5, v6_6, v6_7, v6_8, v6_9, v6_10, v6_11, v6_12, v6_13;
        long v7_0, v7_1, v7_2, v7_3, v7_4, v7_5, v7_6, v7_7, v7_8, v7_9, v7_10, v7_11, v7_12, v7_13;
        long v8_0, v8_1, v8_2, v8_3, v8_4, v8_5, v8_6, v8_7, v8_8, v8_9, v8_10, v8_11, v8_12, v8_13;
    }

    public static void main(String[] args) throws InterruptedException {
        int each = Integer.parseInt(args[0]);
        Thread waste = new Thread(LiveLeak::waste, "waste");
        waste.setDaemon(true);
        waste.start();
        Stage.ready();
        Thread leak = new Thread(() -> leak(each), "leak");
        leak.setDaemon(true);
        leak.start();
        Stage.waitFor("leave");
    }

    private static void leak(int each) {
        for (int i = 0; i < KEPT_MAX;) {
            for (int end = i + each; i < end; i++) {
                KEPT.put(i, keep());
            }
            pause();
        }
    }

    private static Leaky keep() {
        return new Leaky();
    }

    private static void waste() {
        while (true) {
            for (int i = 0; i < 100; i++) {
                garbage = new byte[1000 + ThreadLocalRandom.current().nextInt(1000)];
            }
            garbage = new StringBuilder().append(garbage.hashCode()).toString();
            pause();
        }
    }

    private static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private LiveLeak() {
    }
}
