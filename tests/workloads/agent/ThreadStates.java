import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread in each state, named after it, from "ready" on. Where there are virtual threads one of them is parked
 * in a class initializer, which pins it to its carrier.
 */
public final class ThreadStates {
    private static final long HOUR_MS = 3_600_000;
    private static final Object LOCK = new Object();
    private static volatile long sum;

    private interface Body {
        void run() throws Exception;
    }

    private static final class Pinned {
        static final int NUMBER;

        static {
            while (sum != -1) {
                LockSupport.park();
            }
            NUMBER = 1;
        }
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        start("running", ThreadStates::run);
        start("in-native", ThreadStates::accept);
        start("sleeping", () -> Thread.sleep(HOUR_MS));
        start("waiting", () -> await(0));
        start("waiting-timed", () -> await(HOUR_MS));
        start("parked", LockSupport::park);
        start("parked-timed", () -> LockSupport.parkNanos(HOUR_MS * 1_000_000));
        start("holding", () -> hold(held));
        held.await();
        start("blocked", () -> hold(held));
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class)
                .invoke(null, (Runnable) () -> sum = Pinned.NUMBER);
        } catch (ReflectiveOperationException older) {
            System.out.println("no virtual threads");
        }
        Thread.sleep(300);
        Stage.ready();
        Stage.result(1);
    }

    private static void start(String name, Body body) {
        Thread thread = new Thread(() -> forEver(body), name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void forEver(Body body) {
        try {
            while (true) {
                body.run();
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void run() {
        for (int i = 0; i < 1000; i++) {
            sum += Integer.toString(i).hashCode();
        }
    }

    private static void accept() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            socket.accept();
        }
    }

    private static void await(long ms) throws InterruptedException {
        Object own = new Object();
        synchronized (own) {
            own.wait(ms);
        }
    }

    private static void hold(CountDownLatch held) throws InterruptedException {
        synchronized (LOCK) {
            held.countDown();
            Thread.sleep(HOUR_MS);
        }
    }
}
