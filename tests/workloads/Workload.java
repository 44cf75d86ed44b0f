package workloads;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Generates classes of one kind at an exact rate.
 *
 * <pre>
 *   Workload KIND [--mode explode|cached|churn] [--rate N] [--seconds S] [--quiet S] [--idle S]
 *                 [--warmup-classes N] [--gc-every S] [--burst]
 * </pre>
 *
 * explode keeps every class alive, churn drops it and asks for a collection now and then, cached
 * does the same work with the cache on. --quiet waits before the first class and --idle after the
 * last. --burst makes a second's classes at once. Prints "ready" when the quiet time begins and one
 * line at the end. Exit status 77: this JDK cannot show the kind.
 */
public final class Workload {
    private String mode = "explode";
    private double ratePerSecond = 10;
    private double seconds = 300;
    private double quietSeconds = 0;
    private double idleSeconds = 0;
    private double gcEverySeconds = 5;
    private int warmupClasses = 0;
    private boolean burst = false;

    public static void main(String[] args) throws Throwable {
        if (args.length == 0) {
            usage("which kind?");
        }
        Workload workload = new Workload();
        workload.parse(args);
        System.exit(workload.run(args[0]));
    }

    private void parse(String[] args) {
        for (int i = 1; i < args.length; i++) {
            String option = args[i];
            if (option.equals("--burst")) {
                burst = true;
                continue;
            }
            if (++i == args.length) {
                usage(option + " needs a value");
            }
            switch (option) {
            case "--mode": mode = args[i]; break;
            case "--rate": ratePerSecond = Double.parseDouble(args[i]); break;
            case "--seconds": seconds = Double.parseDouble(args[i]); break;
            case "--quiet": quietSeconds = Double.parseDouble(args[i]); break;
            case "--idle": idleSeconds = Double.parseDouble(args[i]); break;
            case "--gc-every": gcEverySeconds = Double.parseDouble(args[i]); break;
            case "--warmup-classes": warmupClasses = Integer.parseInt(args[i]); break;
            default: usage("unknown option " + option);
            }
        }
        if (!List.of("explode", "cached", "churn").contains(mode) || ratePerSecond <= 0) {
            usage("--mode is explode, cached or churn; --rate is above 0");
        }
    }

    private static void usage(String what) {
        System.err.println("Workload: " + what);
        System.exit(64);
    }

    private int run(String name) throws Throwable {
        Kind kind = Kinds.create(name);
        String why = kind.unavailable();
        if (why == null && mode.equals("churn") && !kind.unloads()) {
            why = "its classes live as long as the class they were made for";
        }
        if (why != null) {
            System.err.println("Workload: no " + mode + " of " + name + ": " + why);
            return 77;
        }
        List<Object> alive = new ArrayList<>();
        alive.add(StartupClasses.define(warmupClasses));
        System.out.println("ready");
        sleep(quietSeconds);

        int done = 0;
        long began = System.nanoTime();
        // By what was made, not by the clock: on a loaded machine both come late, and in the same order.
        long gcEvery = Math.max(1, (long) (gcEverySeconds * ratePerSecond));
        for (;; done++) {
            double due = done / ratePerSecond;
            if (burst) {
                due = Math.floor(due);
            }
            if (due >= seconds) {
                break;
            }
            sleepUntil(began + (long) (due * 1e9));
            Object made = mode.equals("cached") ? kind.cached(done) : kind.fresh(done);
            if (mode.equals("explode")) {
                alive.add(made);
            } else if (mode.equals("churn") && (done + 1) % gcEvery == 0) {
                System.gc();
            }
        }
        double took = (System.nanoTime() - began) / 1e9;
        sleep(idleSeconds);
        System.out.printf("%s %s: %d in %.1f s, %d kept%n", name, mode, done, took, alive.size() - 1);
        return 0;
    }

    private static void sleep(double duration) {
        sleepUntil(System.nanoTime() + (long) (duration * 1e9));
    }

    private static long sleepUntil(long deadline) {
        long now;
        while ((now = System.nanoTime()) < deadline) {
            LockSupport.parkNanos(deadline - now);
        }
        return now;
    }
}
