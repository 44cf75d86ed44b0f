import java.util.List;
import java.util.zip.Deflater;

/** Known methods at known lines, interpreted, compiled, inlined and native, for so many milliseconds. */
public final class AsgstLoad<T extends Comparable<T>> {
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        AsgstLoad<Long> load = new AsgstLoad<>();
        List<Long> values = List.of(3L, 1L, 2L);
        byte[] bytes = new byte[1 << 16];
        Stage.ready();
        do {
            sink += load.spin(values, 20_000);
            sink += deflate(bytes);
        } while (System.nanoTime() < end);
        Stage.result("done");
    }

    private long spin(List<T> values, int rounds) { // first line of spin
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            T value = values.get(i % values.size());
            sum = mix(sum, value.hashCode());
        }
        return sum;
    } // last line of spin

    private static long mix(long sum, int value) {
        return sum * 31 + Long.rotateLeft(value, 7);
    }

    private static int deflate(byte[] bytes) {
        Deflater deflater = new Deflater();
        deflater.setInput(bytes);
        deflater.finish();
        int length = deflater.deflate(new byte[1 << 12]);
        deflater.end();
        return length;
    }
}
