import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.List;

/**
 * What scripts/test/test-jdks.sh watches: runs on JDK 8 and on every later one. It defines its own
 * class Piece again and again, each time in a new loader that it keeps, and works meanwhile so
 * that a profiler finds something.
 *
 * Arguments: classes at once; then how many a second, for how many seconds. Prints "ready" when the
 * first are there. Killed, it ends with 143 like every healthy JVM.
 */
public final class AnyJdk {
    /** The class that is defined over and over. */
    public static final class Piece {
        final int[] values = new int[1024];

        long work(long seed) {
            long sum = seed;
            for (int round = 0; round < 200; round++) {
                for (int i = 0; i < values.length; i++) {
                    values[i] += (int) (sum >>> 7);
                    sum = sum * 6364136223846793005L + values[i];
                }
            }
            return sum;
        }
    }

    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass("AnyJdk$Piece", bytes, 0, bytes.length);
        }
    }

    static final List<Class<?>> kept = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        int first = Integer.parseInt(arguments[0]);
        int rate = Integer.parseInt(arguments[1]);
        long seconds = Long.parseLong(arguments[2]);
        byte[] bytes = bytesOf("/AnyJdk$Piece.class");
        for (int i = 0; i < first; i++) {
            define(bytes);
        }
        System.out.println("ready");
        Piece piece = new Piece();
        long sum = 0, began = System.nanoTime();
        for (long made = 0; System.nanoTime() - began < seconds * 1000000000L;) {
            sum = piece.work(sum);
            while (made < (System.nanoTime() - began) / 1e9 * rate) {
                define(bytes);
                made++;
            }
            Thread.sleep(3); // a tenth of a processor
        }
        System.out.println(sum);
    }

    private static void define(byte[] bytes) throws Exception {
        Class<?> piece = new Loader().define(bytes);
        Constructor<?> constructor = piece.getDeclaredConstructor();
        constructor.setAccessible(true);
        constructor.newInstance();
        kept.add(piece);
    }

    private static byte[] bytesOf(String resource) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        InputStream in = AnyJdk.class.getResourceAsStream(resource);
        byte[] buffer = new byte[4096];
        for (int n; (n = in.read(buffer)) > 0;) {
            out.write(buffer, 0, n);
        }
        in.close();
        return out.toByteArray();
    }
}
