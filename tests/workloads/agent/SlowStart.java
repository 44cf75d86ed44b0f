import java.util.concurrent.locks.LockSupport;

/**
 * A JVM that stays in its start-up: the system class loader is made after the attach listener has
 * begun and before the JVM is "live" (VMInit).
 *
 * <pre>-XX:+StartAttachListener -Djava.system.class.loader=SlowStart -Dgo=FILE CLASS</pre>
 *
 * Says "starting" and goes on when FILE is there.
 */
public final class SlowStart extends ClassLoader {
    public SlowStart(ClassLoader parent) {
        super(parent);
        System.out.println("starting");
        while (!new java.io.File(System.getProperty("go")).exists()) {
            LockSupport.parkNanos(10_000_000);
        }
    }
}
