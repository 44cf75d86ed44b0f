package workloads;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Classes as people write them, for measurements: those of the JDK's own modules, in an order that is
 * always the same, loaded and linked, with whatever they need.
 *
 * <pre>ModuleClasses CLASSES</pre>
 *
 * Moves on at each line of standard input, and prints a line when it has: "ready", "methods M" (mean of
 * those that were asked for, constructors included), "loaded", end.
 */
public final class ModuleClasses {
    public static void main(String[] args) throws Exception {
        int wanted = Integer.parseInt(args[0]);
        List<String> names = names();
        Collections.shuffle(names, new Random(7));
        say("ready");
        List<Class<?>> alive = new ArrayList<>();
        long methods = 0;
        for (String name : names) {
            if (alive.size() == wanted) {
                break;
            }
            try {
                Class<?> made = Class.forName(name, false, ClassLoader.getSystemClassLoader());
                methods += made.getDeclaredMethods().length; // links it
                methods += made.getDeclaredConstructors().length;
                alive.add(made);
            } catch (LinkageError | ReflectiveOperationException e) {
                continue; // needs what this machine has not
            }
        }
        System.out.println("methods " + (double) methods / alive.size());
        say("loaded");
    }

    private static List<String> names() throws IOException {
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        List<String> names = new ArrayList<>();
        try (Stream<Path> files = Files.walk(modules)) {
            files.filter(file -> file.getNameCount() > 2)
                .map(file -> file.subpath(2, file.getNameCount()).toString())
                .filter(name -> name.endsWith(".class") && !name.endsWith("module-info.class"))
                .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                .forEach(names::add);
        }
        return names;
    }

    private static void say(String word) throws IOException {
        System.out.println(word);
        int read;
        do {
            read = System.in.read();
            if (read < 0) {
                System.exit(1); // nobody measures any more
            }
        } while (read != '\n');
    }

    private ModuleClasses() {
    }
}
