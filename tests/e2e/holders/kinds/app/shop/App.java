package shop;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import srv.Server;

/** An application that leaves something behind: what, is its kind. */
public final class App implements java.io.Serializable {
    static final List<Object> KEPT = new ArrayList<>();
    final byte[] data = new byte[Integer.getInteger("data", 10_000)];
    Object more;

    public interface ThingMBean { }
    public static final class Thing implements ThingMBean { }
    static final class Price { }
    static final class Order { final Price price = new Price(); }

    public static class OwnThread extends Thread {
        OwnThread(Runnable run, String name) { super(run, name); setDaemon(true); setContextClassLoader(null); }
    }
    static final class OwnLevel extends Level {
        OwnLevel(String name, int value) { super(name, value); }
    }
    static final class OwnHandler extends java.util.logging.Handler {
        @Override public void publish(java.util.logging.LogRecord record) { }
        @Override public void flush() { }
        @Override public void close() { }
    }
    static final class OwnFormatter extends java.util.logging.Formatter {
        final java.util.logging.Formatter before;
        OwnFormatter(java.util.logging.Formatter before) { this.before = before; }
        @Override public String format(java.util.logging.LogRecord record) { return before.format(record); }
    }
    static final class OwnProvider extends java.security.Provider {
        OwnProvider(String name) { super(name, "1", "an application's"); }
    }
    static final class OwnWorker extends ForkJoinWorkerThread {
        OwnWorker(ForkJoinPool pool) { super(pool); setContextClassLoader(null); }
    }
    static final class OwnDriver implements java.sql.Driver {
        public java.sql.Connection connect(String url, java.util.Properties info) { return null; }
        public boolean acceptsURL(String url) { return false; }
        public java.sql.DriverPropertyInfo[] getPropertyInfo(String url, java.util.Properties info) { return null; }
        public int getMajorVersion() { return 1; }
        public int getMinorVersion() { return 0; }
        public boolean jdbcCompliant() { return false; }
        public Logger getParentLogger() { return null; }
    }
    static final class OwnProxies extends java.net.ProxySelector {
        final java.net.ProxySelector before = java.net.ProxySelector.getDefault();
        @Override public List<java.net.Proxy> select(java.net.URI uri) { return List.of(); }
        @Override public void connectFailed(java.net.URI uri, java.net.SocketAddress address, IOException e) { }
    }
    static final class OwnZone extends java.util.SimpleTimeZone {
        final java.util.TimeZone before = java.util.TimeZone.getDefault();
        OwnZone() { super(0, "shop"); }
    }
    static final class OwnResponses extends java.net.ResponseCache {
        final java.net.ResponseCache before = java.net.ResponseCache.getDefault();
        @Override public java.net.CacheResponse get(java.net.URI uri, String method, java.util.Map<String, List<String>> headers) {
            return null;
        }
        @Override public java.net.CacheRequest put(java.net.URI uri, java.net.URLConnection connection) { return null; }
    }
    static final class OwnLocal extends ThreadLocal<Object> {
        @Override protected Object initialValue() { return new App(); }
    }
    static final class Local extends InheritableThreadLocal<App> { }

    private static Thread without(Runnable run, String name) {
        Thread thread = new Thread(run, name);
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
        return thread;
    }

    private static void block() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void logger(java.util.function.Consumer<Logger> use) {
        Logger logger = Logger.getLogger("shared." + System.nanoTime());
        Server.INSTALLED.add(logger);
        use.accept(logger);
    }

    public static void start(String kind) throws Exception {
        for (String one : kind.split("\\+")) {
            leak(one, new App());
        }
        new Order();
    }

    private static void leak(String kind, App app) throws Exception {
        Thread self = Thread.currentThread();
        switch (kind) {
        /* values of threads */
        case "tl-list": Server.POOL.submit(() -> Server.CONTEXT.get().add(app)).get(); break;
        case "tl-subclass": {
            OwnLocal local = new OwnLocal();
            KEPT.add(local);
            Server.POOL.submit(local::get).get();
            break;
        }
        case "tl-pool": {
            ThreadLocal<App> local = new ThreadLocal<>();
            KEPT.add(local);
            Server.POOL.submit(() -> local.set(app)).get();
            break;
        }
        case "tl-self": {
            ThreadLocal<Object> local = new ThreadLocal<>();
            app.more = local;
            local.set(app);
            break;
        }
        case "tl-inherited": {
            Local local = new Local();
            local.set(app);
            Thread thread = new Thread(Server.LATCH::countDown);
            local.remove();
            thread.setDaemon(true);
            thread.setContextClassLoader(null);
            Server.INSTALLED.add(thread);
            break;
        }
        /* tasks */
        case "sched": Server.SCHEDULER.scheduleAtFixedRate(() -> KEPT.add(app), 1, 1, TimeUnit.DAYS); break;
        case "timer-task":
            Server.TIMER.schedule(new TimerTask() {
                @Override public void run() { KEPT.add(app); }
            }, 86_400_000L);
            break;
        case "pool-running": Server.WIDE.submit(App::block); break;
        case "pool-queued":
            Server.POOL.submit(new srv.Waits());
            Server.POOL.submit(() -> KEPT.add(app));
            break;
        case "common-pool": ForkJoinPool.commonPool().submit(() -> { KEPT.add(app); block(); }); break;
        case "common-queued":
            CompletableFuture.runAsync(App::block);
            CompletableFuture.runAsync(() -> KEPT.add(app));
            break;
        case "own-pool": Executors.newFixedThreadPool(1, run -> new OwnThread(run, "shop-pool")).submit(() -> { }).get(); break;
        case "own-pool-plain": {
            self.setContextClassLoader(null);
            Executors.newFixedThreadPool(1, run -> {
                Thread thread = new Thread(run, "shop-plain");
                thread.setDaemon(true);
                return thread;
            }).submit(() -> { }).get();
            break;
        }
        case "own-fork-join": new ForkJoinPool(1, OwnWorker::new, null, true).submit(() -> { }).get(); break;
        case "own-sched": {
            var own = Executors.newScheduledThreadPool(1, run -> new OwnThread(run, "shop-sched"));
            own.scheduleAtFixedRate(() -> KEPT.add(app), 1, 1, TimeUnit.DAYS);
            break;
        }
        case "own-timer":
            new Timer("shop-timer", true).schedule(new TimerTask() {
                @Override public void run() { KEPT.add(app); }
            }, 86_400_000L);
            break;
        case "cf-timeout": new CompletableFuture<App>().orTimeout(1, TimeUnit.DAYS).whenComplete((a, e) -> KEPT.add(app)); break;
        case "cf-delayed":
            CompletableFuture.delayedExecutor(1, TimeUnit.DAYS).execute(() -> KEPT.add(app));
            break;
        case "cf-never": Server.NEVER.thenAccept(value -> KEPT.add(app)); break;
        case "thread": without(App::block, "shop-worker"); break;
        case "thread-class": {
            OwnThread thread = new OwnThread(() -> Server.LATCH.countDown(), "shop-own") {
                @Override public void run() { block(); }
            };
            thread.start();
            break;
        }
        case "thread-tccl": {
            Runnable wait = (Runnable) Class.forName("srv.Waits").getDeclaredConstructor().newInstance();
            Thread thread = new Thread(wait, "server-thread");
            thread.setDaemon(true);
            thread.start();
            break;
        }
        case "http-server": {
            var server = com.sun.net.httpserver.HttpServer.create(new InetSocketAddress("localhost", 0), 1);
            server.createContext("/", exchange -> KEPT.add(app));
            self.setContextClassLoader(null);
            server.start();
            break;
        }
        case "process": {
            Process process = new ProcessBuilder("sleep", "60").start();
            process.onExit().thenAccept(p -> KEPT.add(app));
            break;
        }
        /* defaults of the JVM */
        case "uncaught": {
            var before = Thread.getDefaultUncaughtExceptionHandler();
            Thread.setDefaultUncaughtExceptionHandler((t, e) -> KEPT.add(before));
            break;
        }
        case "uncaught-thread": {
            var before = Server.worker.getUncaughtExceptionHandler();
            Server.worker.setUncaughtExceptionHandler((t, e) -> KEPT.add(before));
            break;
        }
        case "authenticator": {
            var before = java.net.Authenticator.getDefault();
            java.net.Authenticator.setDefault(new java.net.Authenticator() {
                @Override protected java.net.PasswordAuthentication getPasswordAuthentication() {
                    KEPT.add(before);
                    return null;
                }
            });
            break;
        }
        case "proxies": java.net.ProxySelector.setDefault(new OwnProxies()); break;
        case "cookies": {
            var before = java.net.CookieHandler.getDefault();
            java.net.CookieHandler.setDefault(new java.net.CookieManager(null, (uri, cookie) -> KEPT.add(before)));
            break;
        }
        case "responses": java.net.ResponseCache.setDefault(new OwnResponses()); break;
        case "system-out":
            System.setOut(new java.io.PrintStream(System.out) {
                @Override public void println(String text) { super.println(text); }
            });
            break;
        case "system-err-out":
            System.setErr(new java.io.PrintStream(new java.io.FilterOutputStream(System.err) {
                @Override public void flush() throws IOException { super.flush(); }
            }));
            break;
        case "properties": System.getProperties().put("shop" + System.nanoTime(), app); break;
        case "signal": {
            sun.misc.SignalHandler[] before = new sun.misc.SignalHandler[1];
            before[0] = sun.misc.Signal.handle(new sun.misc.Signal("USR2"), signal -> KEPT.add(before[0]));
            break;
        }
        case "time-zone": java.util.TimeZone.setDefault(new OwnZone()); break;
        case "verifier": {
            var before = javax.net.ssl.HttpsURLConnection.getDefaultHostnameVerifier();
            javax.net.ssl.HttpsURLConnection.setDefaultHostnameVerifier((host, session) -> KEPT.add(before));
            break;
        }
        case "ssl": {
            Object before = javax.net.ssl.SSLContext.getDefault();
            var context = javax.net.ssl.SSLContext.getInstance("TLS");
            context.init(null, new javax.net.ssl.TrustManager[] {new javax.net.ssl.X509TrustManager() {
                public void checkClientTrusted(java.security.cert.X509Certificate[] chain, String type) { }
                public void checkServerTrusted(java.security.cert.X509Certificate[] chain, String type) { KEPT.add(before); }
                public java.security.cert.X509Certificate[] getAcceptedIssuers() { return null; }
            }}, null);
            javax.net.ssl.SSLContext.setDefault(context);
            break;
        }
        case "log-writer": {
            var before = java.sql.DriverManager.getLogWriter();
            java.sql.DriverManager.setLogWriter(new java.io.PrintWriter(System.err) {
                @Override public void flush() { KEPT.add(before); }
            });
            break;
        }
        case "naming": // once
            javax.naming.spi.NamingManager.setInitialContextFactoryBuilder(environment -> given -> null);
            break;
        case "serial-filter":
            java.io.ObjectInputFilter.Config.setSerialFilter(info -> java.io.ObjectInputFilter.Status.UNDECIDED);
            break;
        case "url-factory": java.net.URL.setURLStreamHandlerFactory(protocol -> null); break;
        case "login": {
            Object before;
            try {
                before = javax.security.auth.login.Configuration.getConfiguration();
            } catch (SecurityException e) {
                before = null;
            }
            Object kept = before;
            javax.security.auth.login.Configuration.setConfiguration(new javax.security.auth.login.Configuration() {
                @Override public javax.security.auth.login.AppConfigurationEntry[] getAppConfigurationEntry(String name) {
                    KEPT.add(kept);
                    return null;
                }
            });
            break;
        }
        /* registries of the JDK */
        case "hook": Runtime.getRuntime().addShutdownHook(new Thread(() -> KEPT.add(app))); break;
        case "jdbc": java.sql.DriverManager.registerDriver(new OwnDriver()); break;
        case "jul-filter": logger(logger -> logger.setFilter(record -> KEPT.add(app))); break;
        case "jul-level": logger(logger -> logger.setLevel(new OwnLevel("SHOP", 777))); break;
        case "jul-handler": logger(logger -> logger.addHandler(new OwnHandler())); break;
        case "jul-formatter": {
            var handler = Logger.getLogger("").getHandlers()[0];
            handler.setFormatter(new OwnFormatter(handler.getFormatter()));
            break;
        }
        case "jul-errors": {
            var handler = Logger.getLogger("").getHandlers()[0];
            var before = handler.getErrorManager();
            handler.setErrorManager(new java.util.logging.ErrorManager() {
                @Override public void error(String text, Exception e, int code) { before.error(text, e, code); }
            });
            break;
        }
        case "mbean":
            ManagementFactory.getPlatformMBeanServer().registerMBean(new Thing(),
                new javax.management.ObjectName("shop:id=" + System.nanoTime()));
            break;
        case "mbean-server": {
            var server = javax.management.MBeanServerFactory.createMBeanServer("shop" + System.nanoTime());
            server.registerMBean(new Thing(), new javax.management.ObjectName("shop:id=1"));
            break;
        }
        case "memory-listener":
            ((javax.management.NotificationEmitter) ManagementFactory.getMemoryMXBean())
                .addNotificationListener((notification, handback) -> KEPT.add(app), null, null);
            break;
        case "gc-listener":
            for (var bean : ManagementFactory.getGarbageCollectorMXBeans()) {
                ((javax.management.NotificationEmitter) bean)
                    .addNotificationListener((notification, handback) -> KEPT.add(app), null, app);
            }
            break;
        case "provider": java.security.Security.addProvider(new OwnProvider("Shop" + System.nanoTime())); break;
        case "preferences":
            java.util.prefs.Preferences.userRoot().addPreferenceChangeListener(event -> KEPT.add(app));
            break;
        case "cleaner": Server.CLEANER.register(Server.INSTALLED, () -> KEPT.add(app)); break;
        case "class-value": Server.VALUES.get(String.class).add(app); break;
        case "editor": java.beans.PropertyEditorManager.registerEditor(int.class, OwnEditor.class); break;
        case "image-io":
            javax.imageio.spi.IIORegistry.getDefaultInstance().registerServiceProvider(new OwnStreams());
            break;
        case "transformer":
            Server.instrumentation.addTransformer(new java.lang.instrument.ClassFileTransformer() { });
            break;
        case "thread-group": new ThreadGroup("shop") { }; break;
        case "thread-group-plain": {
            ThreadGroup group = new ThreadGroup("shop-plain") {
                @Override public void uncaughtException(Thread thread, Throwable e) { KEPT.add(app); }
            };
            Thread thread = new Thread(group, App::block);
            thread.setDaemon(true);
            thread.setContextClassLoader(null);
            thread.start();
            break;
        }
        case "unstarted": new Thread(() -> KEPT.add(app), "never"); break;
        case "finalizer": finalizer(); break;
        /* the server's own code */
        case "registry": Server.REGISTRY.add(app); break;
        case "weak-map": Server.WEAK.put(App.class, app); break;
        case "cache": Server.CACHE.put(App.class.getMethod("start", String.class), 1); break;
        case "changes": Server.CHANGES.addPropertyChangeListener(event -> KEPT.add(app)); break;
        case "publisher": {
            Server.publisher.subscribe(new java.util.concurrent.Flow.Subscriber<>() {
                public void onSubscribe(java.util.concurrent.Flow.Subscription subscription) { }
                public void onNext(String item) { }
                public void onError(Throwable e) { }
                public void onComplete() { }
            });
            break;
        }
        case "stream": Server.stream.writeObject(app); break;
        case "proxy":
            Server.REGISTRY.add(Proxy.newProxyInstance(App.class.getClassLoader(), new Class<?>[] {Runnable.class},
                (proxy, method, arguments) -> null));
            break;
        case "exception":
            try {
                List.of().get(3);
            } catch (IndexOutOfBoundsException e) {
                Server.REGISTRY.add(e);
            }
            break;
        case "service-loader": Server.CACHE.put(java.util.ServiceLoader.load(Thing.class, App.class.getClassLoader()), 1); break;
        case "tl-early": // the first one leaks, the last one is in use
            if (Integer.getInteger("early", 0) == 0) {
                System.setProperty("early", "1");
                leak("tl-pool", app);
            }
            break;
        case "current": Server.current = app; break;
        case "open": break;
        case "none": break;
        default: More.leak(kind, app);
        }
    }

    @SuppressWarnings({"deprecation", "removal"})
    private static void finalizer() {
        for (int i = 0; i < 2; i++) {
            new Object() {
                @Override protected void finalize() { block(); }
            };
        }
    }

    public static final class OwnEditor extends java.beans.PropertyEditorSupport { }
    public static final class OwnStreams extends javax.imageio.spi.ImageInputStreamSpi {
        @Override public String getDescription(java.util.Locale locale) { return "shop"; }
        @Override public javax.imageio.stream.ImageInputStream createInputStreamInstance(Object in, boolean cache, java.io.File dir) {
            return null;
        }
    }
}
