import java.lang.ref.SoftReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Loads an application again and again, each time with a loader of its own.
 *
 * <pre>Host leak|fixed TIMES FOLDER KIND...</pre>
 *
 * FOLDER/KIND holds Plugin's classes. fixed: the application cleans up before it goes. Prints "ready".
 * -Dballast=N: so many arrays beside it.
 */
public final class Host {
    public static final List<Object> REGISTRY = new ArrayList<>();
    public static final List<SoftReference<Object>> SOFT = new ArrayList<>();
    public static final ExecutorService POOL = Executors.newFixedThreadPool(1, run -> {
        Thread thread = new Thread(run, "host-pool-1");
        thread.setDaemon(true);
        return thread;
    });

    private static final Object[] BALLAST = new Object[Integer.getInteger("ballast", 0)];

    public static native long pin(Object object);
    public static native void unpin(long reference);

    public static void main(String[] args) throws Exception {
        if (System.getProperty("pin") != null) {
            System.load(System.getProperty("pin"));
        }
        for (int i = 0; i < BALLAST.length; i++) {
            BALLAST[i] = new Object[3];
        }
        POOL.submit(() -> { }).get();
        for (int i = 3; i < args.length; i++) {
            for (int k = 0; k < Integer.parseInt(args[1]); k++) {
                deploy(args[i], Path.of(args[2], args[i]).toUri().toURL(), args[0].equals("fixed"));
            }
        }
        System.out.println("ready");
        Thread.sleep(600_000);
    }

    private static void deploy(String kind, URL url, boolean fixed) throws Exception {
        URLClassLoader loader = new URLClassLoader(new URL[] {url}, Host.class.getClassLoader());
        Class<?> plugin = loader.loadClass("Plugin");
        plugin.getMethod("start", String.class).invoke(null, kind);
        if (fixed) {
            plugin.getMethod("stop").invoke(null);
        }
        loader.close();
    }

    private Host() {
    }
}
