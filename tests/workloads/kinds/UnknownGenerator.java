package workloads.kinds;

import java.util.Random;
import workloads.ClassBytes;
import workloads.DefiningLoader;
import workloads.Kind;

/** A generator no table knows: com.acme.Gen1, com.acme.Gen2, ... A hundred share a loader. */
public class UnknownGenerator implements Kind {
    private DefiningLoader loader;
    private Class<?> cached;

    String name(int n) {
        return "com.acme.Gen" + n;
    }

    @Override
    public Object fresh(int n) throws Throwable {
        if (n % 100 == 0 || loader == null) {
            loader = new DefiningLoader();
        }
        String name = name(n);
        Class<?> made = loader.define(name, ClassBytes.of(name, 10));
        return made.getDeclaredConstructor().newInstance();
    }

    @Override
    public Object cached(int n) throws Throwable {
        if (cached == null) {
            cached = fresh(n).getClass();
        }
        return cached.getDeclaredConstructor().newInstance();
    }

    /** The same with a random tail instead of a counter. */
    public static final class RandomTail extends UnknownGenerator {
        private final Random random = new Random(1);

        @Override
        String name(int n) {
            String alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
            StringBuilder name = new StringBuilder("com.acme.Formula_");
            for (int i = 0; i < 10; i++) {
                name.append(alphabet.charAt(random.nextInt(alphabet.length())));
            }
            return name.toString();
        }
    }
}
