package workloads;

/** Loads a native library and waits: {@code LoadLibrary /path/lib.so [SECONDS]}. */
public final class LoadLibrary {
    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        System.out.println("ready");
        Thread.sleep(args.length > 1 ? Long.parseLong(args[1]) * 1000 : 300_000);
    }

    private LoadLibrary() {}
}
