package orders;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * What is soaked: prices orders by a rule, 50 a second. The rule is made once; with "leak" it is made for each
 * order, by a class loader of its own, and kept: a class explosion, which `nmtwatch soak` finds in half a minute.
 */
public final class Orders {
    private static final List<Object> RULES = new ArrayList<>();

    private static UnaryOperator<?> newRule() {
        ClassLoader loader = new ClassLoader(Orders.class.getClassLoader()) {};
        UnaryOperator<?> rule = (UnaryOperator<?>) Proxy.newProxyInstance(loader,
            new Class<?>[] {UnaryOperator.class}, (proxy, method, arguments) -> arguments[0]);
        RULES.add(rule);
        return rule;
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws InterruptedException {
        boolean leak = arguments.length > 0 && arguments[0].equals("leak");
        UnaryOperator<Object> rule = (UnaryOperator<Object>) newRule();
        for (;;) {
            if (leak)
                rule = (UnaryOperator<Object>) newRule();
            rule.apply("order");
            Thread.sleep(20);
        }
    }
}
