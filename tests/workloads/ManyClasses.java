package workloads;

import java.util.ArrayList;
import java.util.List;

/**
 * Exactly so many classes of so many methods, for measurements.
 *
 * <pre>ManyClasses CLASSES METHODS one|each</pre>
 *
 * one: all in one loader; each: a loader for every class. Moves on at each line of standard input,
 * and prints a line when it has: "ready", "loaded", "unloaded" (a few collections later), end.
 * METHODS counts the constructor.
 */
public final class ManyClasses {
    private static final int COLLECTIONS = 3;

    public static void main(String[] args) throws Exception {
        int classes = Integer.parseInt(args[0]);
        int methods = Integer.parseInt(args[1]);
        boolean each = args[2].equals("each");
        define(10, methods, each); // what defining itself needs is loaded before the measurement
        collect();
        say("ready");
        List<Object> alive = define(classes, methods, each);
        say("loaded");
        alive.clear();
        collect();
        say("unloaded");
    }

    private static List<Object> define(int classes, int methods, boolean each) throws Exception {
        List<Object> alive = new ArrayList<>();
        DefiningLoader loader = new DefiningLoader();
        for (int i = 0; i < classes; i++) {
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
