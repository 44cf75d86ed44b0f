package srv;

/** A thread of the server that runs with values that were bound for it (ScopedValue.Carrier, JDK 25). */
public final class Bound implements Runnable {
    private Object carrier;

    public Bound(Object carrier) {
        this.carrier = carrier;
    }

    @Override public void run() {
        try {
            Object given = carrier;
            carrier = null;
            given.getClass().getMethod("run", Runnable.class).invoke(given, new Waits());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
