import java.lang.management.ManagementFactory;
import java.lang.ref.SoftReference;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.util.Properties;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import javax.management.ObjectName;

/** An application that its host loads again and again: what it leaves behind, and how it cleans up. */
public final class Plugin {
    static final ThreadLocal<Plugin> CURRENT = new ThreadLocal<>();
    static Runnable stop = () -> { };
    final byte[] ballast = new byte[10_000];

    public interface ThingMBean { }
    public static final class Thing implements ThingMBean { }

    static final class OwnThread extends Thread {
        OwnThread(Runnable run) { super(run, "plugin-thread"); setDaemon(true); setContextClassLoader(null); }
    }

    static final class OwnDriver implements Driver {
        public Connection connect(String url, Properties info) { return null; }
        public boolean acceptsURL(String url) { return false; }
        public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) { return new DriverPropertyInfo[0]; }
        public int getMajorVersion() { return 1; }
        public int getMinorVersion() { return 0; }
        public boolean jdbcCompliant() { return false; }
        public Logger getParentLogger() { return null; }
    }

    static final class OwnHandler extends Handler {
        public void publish(LogRecord record) { }
        public void flush() { }
        public void close() { }
    }

    public static void start(String kind) throws Exception {
        switch (kind) {
        case "thread-local":
            Host.POOL.submit(() -> CURRENT.set(new Plugin())).get();
            stop = () -> {
                try {
                    Host.POOL.submit(CURRENT::remove).get();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            };
            break;
        case "timer": {
            Thread thread = Thread.currentThread();
            ClassLoader before = thread.getContextClassLoader();
            thread.setContextClassLoader(Plugin.class.getClassLoader());
            Timer timer = new Timer("plugin-timer", true);
            thread.setContextClassLoader(before);
            timer.schedule(new TimerTask() {
                @Override public void run() { }
            }, 0, 1000);
            stop = timer::cancel;
            break;
        }
        case "executor": {
            ExecutorService executor = Executors.newSingleThreadExecutor(OwnThread::new);
            executor.submit(() -> { }).get();
            stop = () -> {
                executor.shutdownNow();
                try {
                    executor.awaitTermination(10, TimeUnit.SECONDS);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            };
            break;
        }
        case "shutdown-hook": {
            Thread hook = new OwnThread(() -> { });
            Runtime.getRuntime().addShutdownHook(hook);
            stop = () -> Runtime.getRuntime().removeShutdownHook(hook);
            break;
        }
        case "jdbc": {
            Driver driver = new OwnDriver();
            DriverManager.registerDriver(driver);
            stop = () -> {
                try {
                    DriverManager.deregisterDriver(driver);
                } catch (java.sql.SQLException e) {
                    throw new IllegalStateException(e);
                }
            };
            break;
        }
        case "logging": {
            Handler handler = new OwnHandler();
            Logger root = Logger.getLogger("");
            root.addHandler(handler);
            stop = () -> root.removeHandler(handler);
            break;
        }
        case "mbean": {
            ObjectName name = new ObjectName("plugin:id=" + System.identityHashCode(Plugin.class) + "-" + System.nanoTime());
            ManagementFactory.getPlatformMBeanServer().registerMBean(new Thing(), name);
            stop = () -> {
                try {
                    ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            };
            break;
        }
        case "jni": {
            Plugin pinned = new Plugin();
            long reference = Host.pin(pinned);
            stop = () -> Host.unpin(reference);
            break;
        }
        case "registry": {
            Plugin plugin = new Plugin();
            Host.REGISTRY.add(plugin);
            stop = () -> Host.REGISTRY.remove(plugin);
            break;
        }
        case "soft":
            Host.SOFT.add(new SoftReference<>(new Plugin()));
            stop = Host.SOFT::clear;
            break;
        default:
            throw new IllegalArgumentException(kind);
        }
    }

    public static void stop() {
        stop.run();
    }
}
