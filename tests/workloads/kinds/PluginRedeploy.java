package workloads.kinds;

import workloads.ClassBytes;
import workloads.DefiningLoader;
import workloads.Kind;

/** A plug-in that is deployed again and again: the same class name, a new loader each time. */
public final class PluginRedeploy implements Kind {
    private static final String NAME = "com.acme.plugin.PricingPlugin";
    private final byte[] bytes = ClassBytes.of(NAME, 10);
    private Class<?> deployed;

    @Override
    public Object fresh(int n) throws Throwable {
        return new DefiningLoader().define(NAME, bytes).getDeclaredConstructor().newInstance();
    }

    @Override
    public Object cached(int n) throws Throwable {
        if (deployed == null) {
            deployed = new DefiningLoader().define(NAME, bytes);
        }
        return deployed.getDeclaredConstructor().newInstance();
    }
}
