import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.handler.ContextHandlerCollection;
import org.eclipse.jetty.webapp.Configuration;
import org.eclipse.jetty.webapp.WebAppContext;
import org.eclipse.jetty.webapp.WebInfConfiguration;

/** JettyHost DUMP WAR TIMES: /shop, which leaves a shutdown hook behind, and /pay, which does not, redeployed. */
public final class JettyHost {
    public static void main(String[] args) throws Exception {
        Server server = new Server();
        ContextHandlerCollection all = new ContextHandlerCollection();
        server.setHandler(all);
        server.start();
        for (String name : new String[] {"shop", "pay"}) {
            WebAppContext before = null;
            for (int i = 0; i < Integer.parseInt(args[2]); i++) {
                WebAppContext context = new WebAppContext();
                context.setContextPath("/" + name);
                context.setResourceBase(args[1]);
                context.setConfigurations(new Configuration[] {new WebInfConfiguration()});
                if (before != null) {
                    before.stop();
                    all.removeHandler(before);
                    before.destroy();
                }
                all.addHandler(context);
                context.start();
                ClassLoader loader = context.getClassLoader();
                Dump.start(loader, loader.loadClass("shop.App"), name.equals("shop") ? "hook" : "none");
                before = context;
            }
        }
        Dump.to(args[0]);
    }
}
