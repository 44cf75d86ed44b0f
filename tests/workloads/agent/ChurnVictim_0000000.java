import java.util.function.LongUnaryOperator;

/** What ClassChurn renames and loads again and again: a few frames and a caught exception. */
public final class ChurnVictim_0000000 implements LongUnaryOperator {
    public ChurnVictim_0000000() {
    }

    @Override
    public long applyAsLong(long number) {
        return deeper(number, 8);
    }

    private static long deeper(long value, int depth) {
        if (depth > 0) {
            return deeper(mix(value), depth - 1);
        }
        try {
            return fail(value);
        } catch (IllegalArgumentException expected) {
            return value ^ expected.getMessage().length();
        }
    }

    private static long mix(long value) {
        long mixed = value;
        for (int i = 0; i < 200; i++) {
            mixed = mixed * 6364136223846793005L + 1442695040888963407L;
        }
        return mixed;
    }

    private static long fail(long value) {
        throw new IllegalArgumentException("bad" + value);
    }
}
