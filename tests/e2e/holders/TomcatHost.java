import java.nio.file.Path;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * A Tomcat whose applications are redeployed again and again.
 *
 * <pre>TomcatHost leak|fixed TIMES FOLDER KIND...</pre>
 *
 * FOLDER/KIND/WEB-INF/classes holds Plugin's classes. Prints "ready".
 */
public final class TomcatHost {
    public static void main(String[] args) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[2]);
        Context[] apps = new Context[args.length];
        for (int i = 3; i < args.length; i++) {
            apps[i] = tomcat.addContext("/" + args[i], Path.of(args[2], args[i]).toAbsolutePath().toString());
        }
        tomcat.start();
        for (int k = 0; k < Integer.parseInt(args[1]); k++) {
            for (int i = 3; i < args.length; i++) {
                Class<?> plugin = apps[i].getLoader().getClassLoader().loadClass("Plugin");
                plugin.getMethod("start", String.class).invoke(null, args[i]);
                if (args[0].equals("fixed")) {
                    plugin.getMethod("stop").invoke(null);
                }
                apps[i].reload();
            }
        }
        System.out.println("ready");
        Thread.sleep(600_000);
    }

    private TomcatHost() {
    }
}
