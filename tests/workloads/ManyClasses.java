package workloads;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup.ClassOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Exactly so many classes of so many methods, for measurements.
 *
 * <pre>ManyClasses CLASSES METHODS one|each|hidden|strong|churn</pre>
 *
 * one: all in one loader; each: a loader for every class; hidden, strong: hidden classes of this
 * class's loader, without and with ClassOption.STRONG; churn: a loader for every class, and none
 * lives longer than the next few thousand. Moves on at each line of standard input,
 * and prints a line when it has: "ready", "loaded", "unloaded" (a few collections later), end.
 * METHODS counts the constructor.
 */
public final class ManyClasses {
    private static final int COLLECTIONS = 3;
    private static final int CHURN_ROUND = 4000;

    public static void main(String[] args) throws Exception {
        int classes = Integer.parseInt(args[0]);
        int methods = Integer.parseInt(args[1]);
        Shape shape = Shape.valueOf(args[2].toUpperCase());
        define(10, methods, shape); // what defining itself needs is loaded before the measurement
        collect();
        say("ready");
        List<Object> alive = define(classes, methods, shape);
        say("loaded");
        alive.clear();
        collect();
        say("unloaded");
    }

    private enum Shape { ONE, EACH, HIDDEN, STRONG, CHURN }

    private static List<Object> define(int classes, int methods, Shape shape) throws Exception {
        if (shape == Shape.CHURN) {
            for (int first = 0; first < classes; first += CHURN_ROUND) {
                defineNamed(first, Math.min(classes, first + CHURN_ROUND), methods, true);
                System.gc();
            }
            return new ArrayList<>();
        }
        return shape == Shape.ONE || shape == Shape.EACH
            ? defineNamed(0, classes, methods, shape == Shape.EACH)
            : shape == Shape.HIDDEN ? defineHidden(classes, methods)
            : defineHidden(classes, methods, ClassOption.STRONG);
    }

    private static List<Object> defineHidden(int classes, int methods, ClassOption... options)
        throws IllegalAccessException {
        List<Object> alive = new ArrayList<>();
        for (int i = 0; i < classes; i++) {
            byte[] bytes = ClassBytes.of("workloads.Hidden" + i, methods - 1);
            alive.add(MethodHandles.lookup().defineHiddenClass(bytes, true, options).lookupClass());
        }
        return alive;
    }

    private static List<Object> defineNamed(int first, int end, int methods, boolean each)
        throws ClassNotFoundException {
        List<Object> alive = new ArrayList<>();
        DefiningLoader loader = new DefiningLoader();
        for (int i = first; i < end; i++) {
            if (each) {
                loader = new DefiningLoader();
            }
            String name = "many.Class" + i;
            Class<?> made = loader.define(name, ClassBytes.of(name, methods - 1));
            Class.forName(name, true, loader); // links it: that is when an agent hears of it
            alive.add(made);
        }
        return alive;
    }

    private static void collect() throws InterruptedException {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
            Thread.sleep(100);
        }
    }

    private static void say(String word) throws java.io.IOException {
        System.out.println(word);
        int read;
        do {
            read = System.in.read();
            if (read < 0) {
                System.exit(1); // nobody measures any more
            }
        } while (read != '\n');
    }

    private ManyClasses() {
    }
}
