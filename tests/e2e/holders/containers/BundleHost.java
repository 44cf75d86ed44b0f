import java.io.File;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.CountDownLatch;
import org.osgi.framework.Bundle;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;
import org.osgi.framework.wiring.FrameworkWiring;

/** BundleHost DUMP BUNDLE TIMES STORAGE: a bundle that leaves a shutdown hook behind, uninstalled and installed again. */
public final class BundleHost {
    public static void main(String[] args) throws Exception {
        Framework framework = ServiceLoader.load(FrameworkFactory.class).iterator().next().newFramework(Map.of(
            "org.osgi.framework.storage", args[3], "org.osgi.framework.storage.clean", "onFirstInit",
            "org.osgi.framework.bootdelegation", "srv.*,javax.*,sun.*", "org.osgi.framework.bundle.parent", "app"));
        framework.start();
        Bundle bundle = null;
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            if (bundle != null) {
                CountDownLatch refreshed = new CountDownLatch(1);
                bundle.uninstall();
                framework.adapt(FrameworkWiring.class).refreshBundles(null, event -> refreshed.countDown());
                refreshed.await();
            }
            bundle = framework.getBundleContext().installBundle(new File(args[1]).toURI().toString());
            bundle.start();
            Class<?> app = bundle.loadClass("shop.App");
            Dump.start(app.getClassLoader(), app, "hook");
        }
        Dump.to(args[0]);
    }
}
