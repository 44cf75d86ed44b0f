package workloads;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import sun.misc.Unsafe;

/**
 * Memory outside the heap that is lost slowly, and its fixed twin.
 *
 * <pre>
 *   SlowLeak direct|threads|strings [--rate N] [--fixed] [--quiet S] [--seconds S] [--wave S]
 * </pre>
 *
 * direct: N buffers of 1 KB a second are kept; threads: N parked threads a second; strings: N
 * interned strings a second. --fixed does the same work and gives everything back. --wave breathes
 * besides, as a load of this period would: up to 8 MB of buffers are taken and freed again.
 * --quiet waits before the first one; prints "ready" first.
 */
public final class SlowLeak {
    private static final int WAVE_BUFFER_BYTES = 64 * 1024;
    private static final int WAVE_BUFFERS = 128;
    private final List<Object> kept = new ArrayList<>();
    private final Deque<ByteBuffer> wave = new ArrayDeque<>();
    private boolean fixed = false;

    public static void main(String[] args) throws Exception {
        new SlowLeak().run(args);
    }

    private void run(String[] args) throws Exception {
        double rate = 1;
        double quiet = 0;
        double seconds = 600;
        double period = 0;
        for (int i = 1; i < args.length; i++) {
            switch (args[i]) {
            case "--fixed": fixed = true; break;
            case "--rate": rate = Double.parseDouble(args[++i]); break;
            case "--quiet": quiet = Double.parseDouble(args[++i]); break;
            case "--seconds": seconds = Double.parseDouble(args[++i]); break;
            case "--wave": period = Double.parseDouble(args[++i]); break;
            default: throw new IllegalArgumentException(args[i]);
            }
        }
        System.out.println("ready");
        Unsafe unsafe = unsafe();
        long began = System.nanoTime();
        long done = 0;
        for (double now = 0; now < seconds; now = (System.nanoTime() - began) / 1e9) {
            for (; done < (now - quiet) * rate; done++) {
                lose(args[0], done, unsafe);
            }
            if (period > 0) {
                breathe((1 - Math.cos(2 * Math.PI * now / period)) / 2, unsafe);
            }
            Thread.sleep(50);
        }
    }

    private void lose(String what, long n, Unsafe unsafe) throws InterruptedException {
        switch (what) {
        case "direct":
            ByteBuffer buffer = ByteBuffer.allocateDirect(1024);
            if (fixed) {
                unsafe.invokeCleaner(buffer);
            } else {
                kept.add(buffer);
            }
            break;
        case "threads":
            Thread thread = new Thread(() -> {
                while (!fixed) {
                    LockSupport.park();
                }
            }, "worker-" + n);
            thread.setDaemon(true);
            thread.start();
            if (fixed) {
                thread.join();
            }
            break;
        case "strings":
            kept.add(("customer-" + (fixed ? n % 100 : n)).intern());
            if (fixed) {
                kept.clear();
            }
            break;
        default: throw new IllegalArgumentException(what);
        }
    }

    private void breathe(double load, Unsafe unsafe) {
        while (wave.size() < load * WAVE_BUFFERS) {
            wave.push(ByteBuffer.allocateDirect(WAVE_BUFFER_BYTES));
        }
        while (wave.size() > load * WAVE_BUFFERS + 1) {
            unsafe.invokeCleaner(wave.pop());
        }
    }

    private static Unsafe unsafe() throws ReflectiveOperationException {
        java.lang.reflect.Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Unsafe) field.get(null);
    }
}
