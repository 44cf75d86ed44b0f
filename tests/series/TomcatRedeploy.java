import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import workloads.ClassBytes;
import workloads.StartupClasses;

/**
 * A Tomcat whose only application is redeployed again and again.
 *
 * <pre>TomcatRedeploy leak|clean FOLDER [--every S] [--classes N] [--seconds S]</pre>
 *
 * The application has N classes and loads them all when it starts. leak: it registers itself in a
 * list of the server and never leaves it, as drivers, listeners and timers do; clean: it does not.
 * FOLDER must not exist. Prints "ready".
 */
public final class TomcatRedeploy {
    private static final List<Object> REGISTRY = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        boolean leak = args[0].equals("leak");
        Path folder = Path.of(args[1]).toAbsolutePath();
        double every = 10;
        int classes = 100;
        double seconds = 600;
        for (int i = 2; i + 1 < args.length; i += 2) {
            switch (args[i]) {
            case "--every": every = Double.parseDouble(args[i + 1]); break;
            case "--classes": classes = Integer.parseInt(args[i + 1]); break;
            case "--seconds": seconds = Double.parseDouble(args[i + 1]); break;
            default: throw new IllegalArgumentException(args[i]);
            }
        }
        for (int i = 0; i < classes; i++) {
            String name = StartupClasses.name(i);
            Path file = folder.resolve("app/WEB-INF/classes/" + name.replace('.', '/') + ".class");
            Files.createDirectories(file.getParent());
            Files.write(file, ClassBytes.of(name, 12));
        }
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(folder.toString());
        Context app = tomcat.addContext("/app", folder.resolve("app").toString());
        tomcat.start();
        System.out.println("ready");

        long began = System.nanoTime();
        for (double due = every; due < seconds; due += every) {
            ClassLoader loader = app.getLoader().getClassLoader();
            for (int i = 0; i < classes; i++) {
                Class<?> loaded = Class.forName(StartupClasses.name(i), true, loader);
                if (leak && i == 0) {
                    REGISTRY.add(loaded.getDeclaredConstructor().newInstance());
                }
            }
            Thread.sleep(Math.max(0, (long) (due * 1000 - (System.nanoTime() - began) / 1e6)));
            app.reload();
        }
        tomcat.stop();
    }

    private TomcatRedeploy() {
    }
}
