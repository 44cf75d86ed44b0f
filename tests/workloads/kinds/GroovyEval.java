package workloads.kinds;

import groovy.lang.GroovyShell;
import groovy.lang.Script;
import workloads.Kind;

/** GroovyShell.evaluate compiles the text each time, however often it has seen it. */
public class GroovyEval implements Kind {
    private static final String RULE = "def price = 3; price * 14";
    private final GroovyShell shell = new GroovyShell();
    private Script cached;

    GroovyShell shell() {
        return shell;
    }

    @Override
    public Object fresh(int n) {
        Script script = shell().parse(RULE);
        script.run();
        return script;
    }

    @Override
    public Object cached(int n) {
        if (cached == null) {
            cached = shell().parse(RULE);
        }
        return cached.run();
    }

    @Override
    public boolean unloads() {
        return false;
    }

    /** A shell for each evaluation: every class is called Script1. */
    public static final class NewShell extends GroovyEval {
        @Override
        GroovyShell shell() {
            return new GroovyShell();
        }
    }
}
