import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An agent in Java that gives classes new code while threads run in the old one: every method of a
 * round is another one for the JVM, with the same name.
 *
 * <pre>-javaagent:redefine.jar Redefine ROUNDS</pre>
 */
public final class Redefine {
    static Instrumentation instrumentation; // Redefinitions's as well
    private static volatile long sink;

    public static void premain(String options, Instrumentation given) {
        instrumentation = given;
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        AtomicBoolean over = new AtomicBoolean();
        sink = Target.deeper(1, 1); // loaded before the transformer, which asks for it, can be called
        Thread[] threads = new Thread[2];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                while (!over.get()) {
                    sink = Target.deeper(sink, 20);
                }
            }, "target-" + t);
            threads[t].start();
        }
        int[] transformed = new int[1];
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> before,
                                    ProtectionDomain domain, byte[] bytes) {
                if (before != Target.class) {
                    return null;
                }
                transformed[0]++;
                return bytes.clone();
            }
        }, true);
        Stage.ready();
        for (int i = 0; i < rounds; i++) {
            instrumentation.retransformClasses(Target.class);
            if (i % 50 == 0) {
                System.gc(); // throws old versions away
            }
        }
        over.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        Stage.result(transformed[0]);
    }

    static final class Target {
        static long deeper(long value, int depth) {
            return depth > 0 ? deeper(mix(value), depth - 1) + 1 : value;
        }

        private static long mix(long value) {
            long mixed = value;
            for (int i = 0; i < 500; i++) {
                mixed = mixed * 6364136223846793005L + 1442695040888963407L;
            }
            return mixed;
        }
    }
}
