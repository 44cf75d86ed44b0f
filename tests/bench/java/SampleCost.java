import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.management.ObjectName;

/**
 * The same work again and again, under one profiler after the other and under none, in one JVM: what a
 * slice of work takes differs by the profiler alone. Starting, the first half of a slice, and stopping are not counted.
 *
 * <pre>SampleCost random|scrabble SLICE_SECONDS ROUNDS FOLDER NAME=LIBRARY,OPTIONS...</pre>
 *
 * Prints for each slice: name ("none" as well), round, nanoseconds of CPU of the thread that works, and of
 * the profiler's own threads. FOLDER/NAME-ROUND.jfr is the recording, '/' in the name written as '-'.
 */
public final class SampleCost {
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        boolean random = args[0].equals("random");
        double seconds = Double.parseDouble(args[1]);
        int rounds = Integer.parseInt(args[2]);
        List<String> names = new ArrayList<>(List.of("none"));
        List<String> flags = new ArrayList<>(List.of(""));
        for (int i = 4; i < args.length; i++) {
            names.add(args[i].substring(0, args[i].indexOf('=')));
            flags.add(args[i].substring(args[i].indexOf('=') + 1));
        }
        work(random, 1);
        long amount = 1;
        for (long took = 0; took < seconds * 0.7e9; amount *= 2) {
            long began = cpu();
            work(random, amount);
            took = cpu() - began;
        }
        amount /= 2;
        for (int slice = 0; slice < 4; slice++) {
            work(random, amount);
        }
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < names.size(); i++) {
                int which = (i + round) % names.size();
                slice(names.get(which), flags.get(which), Path.of(args[3]), round, random, amount);
            }
        }
    }

    private static void slice(String name, String flag, Path folder, int round, boolean random, long amount)
            throws Exception {
        Path file = folder.resolve(name.replace('/', '-') + "-" + round + ".jfr");
        String library = flag.isEmpty() ? null : flag.substring(0, flag.indexOf(','));
        if (library != null) {
            load(library, flag.substring(flag.indexOf(',') + 1) + ",file=" + file);
        }
        System.gc();
        work(random, amount / 2); // fills tables and learns methods
        long own = own();
        long began = cpu();
        work(random, amount);
        long took = cpu() - began;
        own = own() - own;
        if (library != null) {
            load(library, "stop");
        }
        System.out.println(name + " " + round + " " + took + " " + own);
    }

    private static void load(String library, String options) throws Exception {
        Object[] arguments = {new String[] {library, '"' + options + '"'}};
        Object answer = ManagementFactory.getPlatformMBeanServer().invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"), "jvmtiAgentLoad", arguments,
            new String[] {String[].class.getName()});
        if (!String.valueOf(answer).contains("return code: 0")) {
            throw new IllegalStateException(library + " " + options + ": " + answer);
        }
    }

    private static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** Of the agents' threads; what a thread that is not running has used is exact. */
    private static long own() throws IOException {
        long sum = 0;
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path task : tasks) {
                String name = Files.readString(task.resolve("comm"));
                if (name.startsWith("nmtagent") || name.startsWith("Async-prof")) {
                    sum += Long.parseLong(Files.readString(task.resolve("schedstat")).split(" ")[0]);
                }
            }
        }
        return sum;
    }

    private static void work(boolean random, long amount) {
        if (!random) {
            Scrabble.main(new String[] {Long.toString(amount)});
            return;
        }
        long state = 1;
        for (long i = 0; i < amount * 100; i++) {
            state = RandomStacks.next(state + i);
            sink += RandomStacks.choose(state).run(38, state);
        }
    }
}
