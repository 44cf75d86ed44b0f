package workloads;

/** One way in which applications generate classes. An instance serves one thread. */
public interface Kind {
    /** Defines a new class, nothing cached. What is returned keeps the class alive. */
    Object fresh(int n) throws Throwable;

    /** The same work as an application should do it: the generated class is reused. */
    Object cached(int n) throws Throwable;

    /** Whether the classes can be unloaded once what fresh() returned is dropped. */
    default boolean unloads() {
        return true;
    }

    /** Why this JDK cannot show the kind; null when it can. */
    default String unavailable() {
        return null;
    }
}
