import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A heap of small objects (maps of strings and boxed numbers), a fifth of it retained by twenty copies of one
 * class, each of a loader of its own.
 *
 * <pre>HeapLoad ENTRIES FOLDER</pre>
 *
 * FOLDER holds this program's classes. Prints "ready" and waits.
 */
public final class HeapLoad {
    public static final class Leaked {
        public static final List<Object> KEPT = new ArrayList<>();
    }

    private static final List<Object> OWN = new ArrayList<>();

    private static void fill(List<Object> into, long from, long to) {
        Map<String, Object> map = new HashMap<>();
        for (long i = from; i < to; i++) {
            if (i % 100 == 0) {
                map = new HashMap<>();
                into.add(map);
            }
            map.put("key-" + i, i % 3 == 0 ? (Object) (i + 1000) : "value " + i);
        }
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        long entries = Long.parseLong(args[0]), share = entries / 100;
        for (int i = 0; i < 20; i++) {
            URLClassLoader loader = new URLClassLoader(new URL[] {Path.of(args[1]).toUri().toURL()}, null);
            Class<?> leaked = loader.loadClass("HeapLoad$Leaked");
            fill((List<Object>) leaked.getField("KEPT").get(null), i * share, (i + 1) * share);
            OWN.add(loader);
        }
        fill(OWN, 20 * share, entries);
        System.out.println("ready");
        Thread.sleep(3_600_000);
    }

    private HeapLoad() {
    }
}
