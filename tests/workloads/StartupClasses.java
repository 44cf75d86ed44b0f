package workloads;

/**
 * What a large application loads while it starts: classes of one loader, the names made of words and
 * without counters, so that they look written by people.
 */
public final class StartupClasses {
    private static final String[] WORDS = {
        "Order", "Invoice", "Customer", "Payment", "Report", "Account", "Session", "Request", "Policy",
        "Ticket", "Product", "Basket", "Address", "Ledger", "Message", "Folder", "Branch", "Channel",
        "Device", "Voucher", "Tariff", "Route", "Vessel", "Garden", "Window", "Meadow", "Harbour",
        "Lantern", "Timber", "Copper", "Silver", "Marble",
    };
    private static final String[] ROLES = {
        "Service", "Controller", "Repository", "Mapper", "Validator", "Listener", "Factory", "Builder",
    };

    /** count: at most 8 * 32^3. Returns what keeps them alive. */
    public static Object define(int count) {
        DefiningLoader loader = new DefiningLoader();
        for (int i = 0; i < count; i++) {
            String name = name(i);
            loader.define(name, ClassBytes.of(name, 8));
        }
        return loader;
    }

    public static String name(int i) {
        int rest = i / ROLES.length;
        String first = WORDS[rest % WORDS.length];
        String second = WORDS[rest / WORDS.length % WORDS.length];
        String third = WORDS[rest / WORDS.length / WORDS.length % WORDS.length];
        return "com.example." + third.toLowerCase() + "." + first + second + ROLES[i % ROLES.length];
    }

    private StartupClasses() {
    }
}
