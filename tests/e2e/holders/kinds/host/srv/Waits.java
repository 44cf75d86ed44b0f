package srv;

/** What a thread of the server does. */
public final class Waits implements Runnable {
    @Override public void run() {
        try {
            Server.LATCH.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
