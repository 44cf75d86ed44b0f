package workloads.kinds;

import workloads.Kind;

/** An application that generates nothing. */
public final class Idle implements Kind {
    @Override
    public Object fresh(int n) {
        return this;
    }

    @Override
    public Object cached(int n) {
        return this;
    }
}
