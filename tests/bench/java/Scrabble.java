import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Word scores with streams, boxing and lambdas: the shape of the benchmark that articles on the cost of
 * allocation profiling use. The same work every time; one thread.
 *
 * <pre>Scrabble ROUNDS</pre>
 */
public final class Scrabble {
    private static final int[] SCORES =
        {1, 3, 3, 2, 1, 4, 2, 4, 1, 8, 5, 1, 3, 1, 1, 3, 10, 1, 1, 1, 1, 4, 4, 8, 4, 10};
    private static final int[] AVAILABLE =
        {9, 2, 2, 1, 12, 2, 3, 2, 9, 1, 1, 4, 2, 6, 8, 2, 1, 6, 4, 6, 4, 2, 2, 1, 2, 1};

    public static void main(String[] args) {
        List<String> words = words(2000);
        long sum = 0;
        for (int round = Integer.parseInt(args[0]); round > 0; round--) {
            sum = sum * 31 + best(words);
        }
        System.out.println("checksum " + sum);
    }

    private static List<String> words(int count) {
        List<String> words = new ArrayList<>();
        long state = 1;
        for (int i = 0; i < count; i++) {
            StringBuilder word = new StringBuilder();
            for (int length = 4 + i % 7; length > 0; length--) {
                state = state * 6364136223846793005L + 1442695040888963407L;
                word.append((char) ('a' + (state >>> 33) % 26));
            }
            words.add(word.toString());
        }
        return words;
    }

    private static long best(List<String> words) {
        Map<Integer, List<String>> byScore = words.stream()
            .filter(word -> blanks(word) <= 2)
            .collect(Collectors.groupingBy(Scrabble::score));
        return byScore.entrySet().stream()
            .sorted((left, right) -> right.getKey().compareTo(left.getKey()))
            .limit(3)
            .mapToLong(entry -> entry.getKey() * 31L + entry.getValue().size())
            .sum();
    }

    private static Map<Integer, Long> letters(String word) {
        return word.chars().boxed().collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    }

    private static long blanks(String word) {
        return letters(word).entrySet().stream()
            .mapToLong(entry -> Math.max(0L, entry.getValue() - AVAILABLE[entry.getKey() - 'a'])).sum();
    }

    private static Integer score(String word) {
        int letters = letters(word).entrySet().stream()
            .map(entry -> SCORES[entry.getKey() - 'a']
                * (int) Math.min(entry.getValue(), AVAILABLE[entry.getKey() - 'a']))
            .reduce(0, Integer::sum);
        int first = IntStream.range(0, Math.min(3, word.length())).boxed()
            .map(i -> SCORES[word.charAt(i) - 'a']).max(Integer::compareTo).orElse(0);
        return 2 * (letters + first) + (word.length() == 7 ? 50 : 0);
    }
}
