/**
 * Starts programs while other threads work; counts those that ended well.
 *
 * <pre>ForkExec COUNT</pre>
 */
public final class ForkExec {
    private static volatile boolean over;
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        Thread busy = new Thread(() -> {
            while (!over) {
                sink = sink * 6364136223846793005L + 1442695040888963407L;
            }
        }, "busy");
        busy.start();
        int good = 0;
        Stage.ready();
        for (int i = 0; i < count; i++) {
            Process process = new ProcessBuilder("sh", "-c", "read line; exit $line").start();
            process.getOutputStream().write("7\n".getBytes());
            process.getOutputStream().close();
            if (process.waitFor() == 7) {
                good++;
            }
        }
        over = true;
        busy.join();
        Stage.result(good);
    }
}
