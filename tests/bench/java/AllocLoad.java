import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Allocation-heavy work that is the same every time: lines of text are built, split, grouped in maps
 * and joined again; little is kept. One thread, about a gigabyte a second.
 *
 * <pre>AllocLoad ROUNDS</pre>
 */
public final class AllocLoad {
    private record Item(String key, long amount, int[] parts) {
    }

    public static void main(String[] args) {
        int rounds = Integer.parseInt(args[0]);
        long sum = 0;
        for (int round = 0; round < rounds; round++) {
            sum = sum * 31 + round(round);
        }
        System.out.println("checksum " + sum);
    }

    private static long round(int seed) {
        Map<String, List<Item>> groups = new HashMap<>();
        for (int i = 0; i < 2000; i++) {
            StringBuilder line = new StringBuilder();
            for (int field = 0; field < 8; field++) {
                line.append(seed * 31 + i * field).append(';');
            }
            String[] fields = line.toString().split(";");
            int[] parts = new int[fields.length];
            long amount = 0;
            for (int field = 0; field < fields.length; field++) {
                parts[field] = Integer.parseInt(fields[field]);
                amount += parts[field];
            }
            Item item = new Item("group-" + i % 97, amount, parts);
            groups.computeIfAbsent(item.key(), key -> new ArrayList<>()).add(item);
        }
        byte[] page = new byte[16 << 10];
        long sum = 0;
        for (Map.Entry<String, List<Item>> group : groups.entrySet()) {
            StringBuilder text = new StringBuilder(group.getKey());
            for (Item item : group.getValue()) {
                text.append(' ').append(item.amount()).append('/').append(item.parts().length);
                sum += item.amount();
            }
            byte[] bytes = text.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8);
            System.arraycopy(bytes, 0, page, 0, Math.min(bytes.length, page.length));
            sum += page[bytes.length / 2];
        }
        return sum;
    }
}
