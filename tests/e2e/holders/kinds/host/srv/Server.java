package srv;

import java.io.File;
import java.io.ObjectOutputStream;
import java.lang.management.ManagementFactory;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;

/**
 * A server that deploys and undeploys applications, each with a class loader of its own.
 *
 * <pre>Server DUMP TIMES FOLDER KIND[:HOW]...</pre>
 *
 * FOLDER/HOST holds the server's classes, FOLDER/app those of the application, FOLDER/plug those of plug-ins that share a
 * library. HOW the jar is named: plain (one folder for each kind), version, tmp, uuid, named, date. After TIMES
 * deployments it writes its dump and prints for each kind how many of its loaders the JVM still has.
 */
public final class Server {
    public static final List<Object> REGISTRY = new ArrayList<>();
    public static final Map<Object, Object> WEAK = new WeakHashMap<>();
    public static final Map<Object, Object> CACHE = new LinkedHashMap<>();
    public static final List<Object> INSTALLED = new ArrayList<>();
    public static final CompletableFuture<Object> NEVER = new CompletableFuture<>();
    public static final ThreadLocal<List<Object>> CONTEXT = ThreadLocal.withInitial(ArrayList::new);
    public static final ClassValue<List<Object>> VALUES = new ClassValue<>() {
        @Override protected List<Object> computeValue(Class<?> type) { return new ArrayList<>(); }
    };
    public static final ExecutorService POOL = Executors.newFixedThreadPool(1, Server::daemon);
    public static final ExecutorService WIDE = Executors.newCachedThreadPool(Server::daemon);
    public static final ScheduledThreadPoolExecutor SCHEDULER = new ScheduledThreadPoolExecutor(1, Server::daemon);
    public static final Timer TIMER = new Timer("server-timer", true);
    public static final Cleaner CLEANER = Cleaner.create();
    public static final CountDownLatch LATCH = new CountDownLatch(1);
    public static final java.beans.PropertyChangeSupport CHANGES = new java.beans.PropertyChangeSupport(Server.class);
    public static java.util.concurrent.SubmissionPublisher<String> publisher;
    public static ObjectOutputStream stream;
    public static Thread worker;
    public static volatile Object current;
    public static Throwable lastError;
    public static java.lang.instrument.Instrumentation instrumentation;

    public static void premain(String args, java.lang.instrument.Instrumentation given) {
        instrumentation = given;
    }

    private static Thread daemon(Runnable run) {
        Thread thread = new Thread(run, "server-pool-" + System.nanoTime());
        thread.setDaemon(true);
        return thread;
    }

    private static URL place(Path folder, String kind, String how, int turn) throws Exception {
        String to;
        switch (how) {
        case "version": to = kind + "-1.0." + turn; break;
        case "tmp": to = Files.createTempDirectory(folder, kind).resolve("shop").toString(); break;
        case "uuid": to = "plugins/" + UUID.randomUUID() + "/" + kind; break;
        case "date": to = "releases/2026" + (1126 + turn) + "T0930/" + kind; break;
        case "random": to = Long.toString(UUID.randomUUID().getMostSignificantBits() >>> 1, 36) + "/" + kind; break;
        default: to = kind;
        }
        Path target = folder.resolve(to);
        Path source = folder.resolve("app");
        if (!Files.exists(target)) {
            try (var files = Files.walk(source)) {
                for (Path file : (Iterable<Path>) files::iterator) {
                    Path copy = target.resolve(source.relativize(file));
                    Files.createDirectories(copy.getParent());
                    if (Files.isRegularFile(file)) {
                        Files.copy(file, copy);
                    }
                }
            }
        }
        return new File(target.toString() + "/").toURI().toURL();
    }

    private static void deploy(Path folder, String kind, String how, int turn, List<WeakReference<ClassLoader>> loaders)
            throws Exception {
        URL[] urls = {place(folder, kind, how, turn)};
        ClassLoader above = Server.class.getClassLoader();
        URLClassLoader loader = how.equals("named") ? new URLClassLoader(kind + "@" + turn, urls, above)
                                                    : new URLClassLoader(urls, above);
        loaders.add(new WeakReference<>(loader));
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            Class<?> app = loader.loadClass("shop.App");
            app.getMethod("start", String.class).invoke(null, kind);
        } finally {
            thread.setContextClassLoader(before);
        }
        if (!kind.endsWith("+open")) {
            loader.close();
        }
    }

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[2]);
        POOL.submit(() -> { }).get();
        SCHEDULER.submit(() -> { }).get();
        publisher = new java.util.concurrent.SubmissionPublisher<>(POOL, 8);
        stream = new ObjectOutputStream(new java.io.ByteArrayOutputStream());
        worker = daemon(() -> {
            try {
                LATCH.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        worker.start();
        Map<String, List<WeakReference<ClassLoader>>> all = new LinkedHashMap<>();
        for (int i = 3; i < args.length; i++) {
            String[] parts = args[i].split(":");
            String how = parts.length > 1 ? parts[1] : "plain";
            List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
            all.put(args[i], loaders);
            for (int turn = 0; turn < Integer.parseInt(args[1]); turn++) {
                try {
                    deploy(folder, parts[0], how, turn, loaders);
                } catch (java.lang.reflect.InvocationTargetException e) {
                    System.out.println("failed " + args[i] + " " + e.getCause());
                }
            }
        }
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(30);
        }
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class).dumpHeap(args[0], true);
        for (Map.Entry<String, List<WeakReference<ClassLoader>>> entry : all.entrySet()) {
            long alive = entry.getValue().stream().filter(reference -> reference.get() != null).count();
            System.out.println("alive " + entry.getKey() + " " + alive);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private Server() {
    }
}
