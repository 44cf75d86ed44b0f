import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Many threads that allocate little and end: half a megabyte each of byte[] and int[], three to one.
 *
 * <pre>AllocThreads THREADS [virtual]</pre>
 */
public final class AllocThreads {
    private static final ThreadMXBean BEAN = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final AtomicLong TOTAL = new AtomicLong();
    private static volatile Object sink;

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        boolean virtual = args.length > 1;
        Stage.ready();
        long before = total();
        for (int left = threads; left > 0; left -= 16) {
            List<Thread> batch = new ArrayList<>();
            for (int i = 0; i < Math.min(16, left); i++) {
                Runnable work = virtual ? AllocThreads::work : AllocThreads::counted;
                batch.add(virtual ? startVirtual(work) : start(work));
            }
            for (Thread thread : batch) {
                thread.join();
            }
        }
        long all = virtual ? total() - before
                : TOTAL.get() + BEAN.getThreadAllocatedBytes(Thread.currentThread().getId());
        Stage.result("total=" + all + " byte[]=" + threads * 384L * 1024 + " int[]="
                + threads * 128L * 1024);
    }

    private static Thread start(Runnable work) {
        Thread thread = new Thread(work);
        thread.start();
        return thread;
    }

    /** This file is compiled for JDK 17, too. */
    private static Thread startVirtual(Runnable work) throws Exception {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                .invoke(null, work);
    }

    private static void counted() {
        work();
        TOTAL.addAndGet(BEAN.getThreadAllocatedBytes(Thread.currentThread().getId()));
    }

    private static void work() {
        for (int i = 0; i < 32; i++) {
            for (int j = 0; j < 12; j++) {
                sink = new byte[1024 - 16];
            }
            sink = new int[(4096 - 16) / 4];
        }
    }

    private static long total() throws Exception {
        try {
            return (long) ThreadMXBean.class.getMethod("getTotalThreadAllocatedBytes").invoke(BEAN);
        } catch (NoSuchMethodException e) {
            return 0;
        }
    }

    private AllocThreads() {
    }
}
