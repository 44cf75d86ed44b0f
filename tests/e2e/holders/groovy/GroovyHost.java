import groovy.lang.GroovyClassLoader;
import groovy.lang.GroovySystem;
import groovy.lang.Script;
import org.codehaus.groovy.runtime.InvokerHelper;

/**
 * Runs a script that gives String another method, again and again, each time with a GroovyClassLoader of its own.
 *
 * <pre>GroovyHost leak|fixed TIMES</pre>
 *
 * fixed: the method and what Groovy's registry knows of the script's classes are taken out of it. Prints "ready".
 */
public final class GroovyHost {
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
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
