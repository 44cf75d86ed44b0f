import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.zip.Deflater;

/** Known methods at known lines, interpreted, compiled, inlined and native, for so many milliseconds of CPU. */
public final class AsgstLoad<T extends Comparable<T>> {
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        long end = clock.getCurrentThreadCpuTime() + Long.parseLong(args[0]) * 1_000_000;
        AsgstLoad<Long> load = new AsgstLoad<>();
        List<Long> values = List.of(3L, 1L, 2L);
        byte[] bytes = new byte[1 << 16];
        Stage.ready();
        do {
            sink += load.spin(values, 5_000);
            sink += deflate(bytes);
        } while (clock.getCurrentThreadCpuTime() < end);
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

    /** Inlined into spin. */
    private static long mix(long sum, int value) {
        return leaf(sum + value);
    }

    /** With -XX:CompileCommand=dontinline,AsgstLoad::leaf a call, which has a description of its place. */
    private static long leaf(long sum) {
        for (int i = 0; i < 20; i++) {
            sum = sum * 31 + Long.rotateLeft(sum, 7);
        }
        return sum;
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
