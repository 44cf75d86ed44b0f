import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.management.ObjectName;

/**
 * The same work again and again, sampled and not, in one JVM and one recording: what a slice of work takes differs by
 * the samples alone. Slices come in blocks of four, off on on off and on off off on in turns, so that what grows or
 * shrinks meanwhile (heap, caches, other machines) adds nothing, and as many slices of either follow the command that
 * switches. A block that does not count comes first: it fills tables and learns methods. The last one has a slice for each four
 * blocks, and four, all of them on: there the profiler's own threads have the work that they always have.
 *
 * <pre>SampleCost random|scrabble SLICE_SECONDS BLOCKS LIBRARY BEGIN ON OFF END</pre>
 *
 * The last four are options of the library. Prints for each slice: on or off, block (-1 first), nanoseconds of CPU of the
 * thread that works, and of the profiler's own threads.
 */
public final class SampleCost {
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        boolean random = args[0].equals("random");
        double seconds = Double.parseDouble(args[1]);
        int blocks = Integer.parseInt(args[2]);
        long amount = amount(random, seconds);
        load(args[3], args[4]);
        boolean was = true;
        for (int block = -1; block <= blocks; block++) {
            for (int slice = 0; slice < (block < blocks ? 4 : 4 + blocks / 4); slice++) {
                boolean on = block == blocks || (slice == 1 || slice == 2) == (block % 2 == 0);
                if (on != was) {
                    load(args[3], on ? args[5] : args[6]);
                }
                was = on;
                long own = own();
                long began = cpu();
                work(random, amount);
                long took = cpu() - began;
                System.out.println((on ? "on " : "off ") + block + " " + took + " " + (own() - own));
            }
        }
        load(args[3], args[7]);
    }

    /** Of work, that takes so long when all is compiled. */
    private static long amount(boolean random, double seconds) {
        for (long began = System.nanoTime(); System.nanoTime() - began < 5_000_000_000L;) {
            work(random, 1);
        }
        long amount = 1;
        for (long took = 0; took < 500_000_000L; amount *= 2) {
            long began = cpu();
            work(random, amount);
            took = cpu() - began;
            if (took >= 500_000_000L) {
                return Math.max(1, Math.round(amount * seconds * 1e9 / took));
            }
        }
        return amount;
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
