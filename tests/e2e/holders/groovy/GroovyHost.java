import groovy.lang.GroovyClassLoader;
import groovy.lang.GroovySystem;
import groovy.lang.Script;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.codehaus.groovy.runtime.InvokerHelper;

/**
 * Runs a script that gives String another method, again and again, each time with a GroovyClassLoader of its own.
 *
 * <pre>GroovyHost leak|fixed|cached TIMES</pre>
 *
 * fixed: the method and what Groovy's registry knows of the script's classes are taken out of it. cached: other scripts, each
 * parsed once, its class in a map. Prints "ready".
 */
public final class GroovyHost {
    private static final Map<String, Class<?>> SCRIPTS = new ConcurrentHashMap<>();

    private static int runCached(int number) throws Exception {
        String text = "int twice(int n) { n * 2 }; def all = (1..3).collect { twice(it) + " + number + " }; all.sum()";
        Class<?> script = SCRIPTS.computeIfAbsent(text, given -> {
            GroovyClassLoader loader = new GroovyClassLoader(GroovyHost.class.getClassLoader());
            return loader.parseClass(given, "Rule" + number + ".groovy");
        });
        return (Integer) ((Script) script.getDeclaredConstructor().newInstance()).run();
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3 * Integer.parseInt(args[1]) && args[0].equals("cached"); i++) {
            runCached(i % Integer.parseInt(args[1]));
        }
        for (int i = 0; i < Integer.parseInt(args[1]) && !args[0].equals("cached"); i++) {
            GroovyClassLoader loader = new GroovyClassLoader(GroovyHost.class.getClassLoader());
            Class<?> script = loader.parseClass("String.metaClass.twice" + i + " = { -> delegate * 2 }; 'ab'.twice" + i + "()");
            ((Script) script.getDeclaredConstructor().newInstance()).run();
            if (args[0].equals("fixed")) {
                GroovySystem.getMetaClassRegistry().removeMetaClass(String.class);
                for (Class<?> own : loader.getLoadedClasses()) {
                    InvokerHelper.removeClass(own);
                }
                loader.clearCache();
            }
            loader.close();
        }
        System.out.println("ready");
        Thread.sleep(600_000);
    }

    private GroovyHost() {
    }
}
