package workloads.kinds;

import java.lang.invoke.CallSite;
import java.lang.invoke.LambdaMetafactory;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.IntSupplier;
import workloads.Kind;

/** A library that calls LambdaMetafactory itself, once for each use. */
public final class LambdaSpinning implements Kind {
    private CallSite cached;

    private static int answer() {
        return 42;
    }

    private static CallSite spin() throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodType type = MethodType.methodType(int.class);
        return LambdaMetafactory.metafactory(
            lookup, "getAsInt", MethodType.methodType(IntSupplier.class), type,
            lookup.findStatic(LambdaSpinning.class, "answer", type), type);
    }

    private static Object use(CallSite site) throws Throwable {
        IntSupplier supplier = (IntSupplier) site.getTarget().invoke();
        supplier.getAsInt();
        return supplier;
    }

    @Override
    public Object fresh(int n) throws Throwable {
        return use(spin());
    }

    @Override
    public Object cached(int n) throws Throwable {
        if (cached == null) {
            cached = spin();
        }
        return use(cached);
    }

    @Override
    public boolean unloads() {
        return false;
    }
}
