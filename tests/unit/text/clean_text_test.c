#include "analyzers/text/clean_text.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define ROWS                                                                                       \
    "Native Memory Tracking:\n\nTotal: reserved=20KB, committed=12KB\n"                            \
    "-                 Internal (reserved=20KB, committed=12KB)\n"                                 \
    "                            (malloc=12KB #3)\n"

static void becomes(const char *raw, const char *clean_words)
{
    struct clean_text clean;
    assert_true(clean_text_make(&clean, span_from_cstr(raw)));
    char text[4096];
    span_copy(clean.text, text, sizeof text);
    assert_string_equal(text, clean_words);
    clean_text_free(&clean);
}

static void a_plain_text_is_borrowed(void **state)
{
    (void)state;
    struct clean_text clean;
    struct span raw = SPAN_LITERAL(ROWS);
    assert_true(clean_text_make(&clean, raw));
    assert_ptr_equal(clean.text.ptr, raw.ptr);
    assert_int_equal(clean_text_line(&clean, raw.ptr + 26), 3);
    char words[200];
    clean_text_words(&clean, words, sizeof words);
    assert_string_equal(words, "");
    clean_text_free(&clean);
}

/* A terminal, or a mail, of 40 columns. */
static void histograms_of_a_narrow_screen_are_whole_again(void **state)
{
    (void)state;
    becomes(" num     #instances         #bytes  clas\ns name (module)\n"
            "----------------------------------------\n---------------\n"
            "   1:            90          36000  Leak\n$Order\n"
            "   2:             9           3600  [Lja\nva.lang.Object; (java.base@17.0.15)\n"
            "   3:             9           3600  [B\n"
            "   4:             1             36  abcd\n"
            "Total           109          43236\n",
            " num     #instances         #bytes  clas\ns name (module)\n"
            "----------------------------------------\n---------------\n"
            "   1:            90          36000  Leak$Order\n"
            "   2:             9           3600  [Ljava.lang.Object; (java.base@17.0.15)\n"
            "   3:             9           3600  [B\n"
            "   4:             1             36  abcd\n"
            "Total           109          43236\n");
    /* One is no proof: somebody's word may stand behind it. */
    becomes(
        "   1:            90          36000  Leak\nwhat?\n   2:             9           3600  [B\n",
        "   1:            90          36000  Leak\nwhat?\n   2:             9           3600  "
        "[B\n");
}

static void what_stands_in_front_goes(void **state)
{
    (void)state;
    static const char *const prefixes[] = {
        "> ",
        "> > ",
        "// ",
        " * ",
        "# ",
        "-- ",
        "| ",
        "    ",
        "\t",
        "2026-05-01T10:00:00.123456789Z ",
        "2026-05-01T10:00:00.123456789Z stdout F ",
        "app_1  | ",
        "May  1 10:00:00 host java[1234]: ",
        "2026-05-01 10:00:00,123 [main] INFO  c.e.Main - ",
        "2026-05-01T10:00:00.123+02:00  INFO 12 --- [main] c.e.Main : ",
        "[pod/a-1/app] ",
        "01-May-2026 10:00:00.123 INFO [main] o.a.c.Main - ",
        "[2026-05-01 10:00:00] ",
        "INFO   | jvm 1    | 2026/05/01 10:00:00 | ",
        "\xe2\x80\xa2 ",
        "2026-05-01T10:00:00.00+0200 [APP/PROC/WEB/0] OUT ",
        "\x1b[36mapp-1  |\x1b[0m ",
        "shop_app.1.x7abc@node1    | ",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char raw[4096];
        size_t used = 0;
        struct span rest = SPAN_LITERAL(ROWS), line;
        bool terminated;
        while (span_next_line(&rest, &line, &terminated))
            used += (size_t)snprintf(raw + used, sizeof raw - used, "%s%.*s\n", prefixes[i],
                                     (int)line.len, line.ptr);
        becomes(raw, ROWS);
    }
}

static void layers_go_one_after_the_other(void **state)
{
    (void)state;
    becomes("{\"log\":\"2026-05-01T10:00:00Z \\u003e Total: reserved=1KB\\n\"}\n"
            "{\"log\":\"2026-05-01T10:00:00Z \\u003e - Code\\n\"}\n"
            "{\"log\":\"2026-05-01T10:00:00Z \\u003e done\\n\"}\n",
            "Total: reserved=1KB\n- Code\ndone\n");
    becomes("    \"Total: reserved=1KB\",\n    \"\",\n    \"- Code\",\n    \"  (malloc=2KB)\"\n",
            "Total: reserved=1KB\n\n- Code\n  (malloc=2KB)\n");
    becomes("<pre>\n&gt; a &lt;b&gt;\n&gt; c\n</pre>\n", "\na <b>\nc\n\n");
}

static void what_is_not_certain_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[0.108s][info][class,load] A source: file:/a.jar\n[0.109s][info][class,load] B source: "
        "b\n",
        "[2026-05-01T10:00:00.000+0000][0.1s][info][gc] x\n"
        "[2026-05-01T10:00:01.000+0000][0.2s][info][gc] y\n"
        "[2026-05-01T10:00:02.000+0000][0.3s][info][gc] z\n",
        "java.lang.Object/null\n|--A/null\n|  |--B/null\n|  |--C/null\n|--D/null\n",
        "2026-05-01T10:00:00.752+0000: 75.691 s\n",
        "\"a\",\"b\"\n\"c\",\"d\"\n\"e\",\"f\"\n",
        "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV\n#\n",
        " num     #instances         #bytes  class name\n-----\n   1:   12   34  [B\n",
        "Usage: 12.34 MB used, 1.500 MB free\nwaste: 12.345 KB\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts - 2; i++)
        becomes(texts[i], texts[i]);
    becomes(texts[6], texts[6]);
}

static void encodings(void **state)
{
    (void)state;
    static const char little[] = "\xff\xfe"
                                 "a\0\r\0\n\0\xe4\0\n\0";
    static const char big[] = "\xfe\xff"
                              "\0a\0\n\0\xe4\0\n";
    struct clean_text clean;
    assert_true(clean_text_make(&clean, span_of(little, sizeof little - 1)));
    assert_true(span_equals(clean.text, SPAN_LITERAL("a\n\xc3\xa4\n")));
    assert_int_equal(clean.removed[REMOVED_ENCODING], 1);
    clean_text_free(&clean);
    assert_true(clean_text_make(&clean, span_of(big, sizeof big - 1)));
    assert_true(span_equals(clean.text, SPAN_LITERAL("a\n\xc3\xa4\n")));
    clean_text_free(&clean);
    becomes("\xef\xbb\xbfwords\n", "words\n");
    becomes("a\\nb\\nc\\nd\\n\\te\n", "a\nb\nc\nd\n\te\n");
}

static void numbers_of_rows_lose_their_groups(void **state)
{
    (void)state;
    becomes("Total: reserved=1,234,567KB, committed=1.234KB\n",
            "Total: reserved=1234567KB, committed=1234KB\n");
    becomes("Total: reserved=1 234 567KB +1 000KB, committed=1\xc2\xa0"
            "234KB\n",
            "Total: reserved=1234567KB +1000KB, committed=1234KB\n");
    becomes("(malloc=1 234 #5 678)\n(used=12 345 KB)\n",
            "(malloc=1 234 #5 678)\n(used=12 345 KB)\n");
    becomes("(waste=0KB =0,00%)\n", "(waste=0KB =0.00%)\n");
    becomes("   1:     1,234,567     98,765,432  [B\nx\n",
            "   1:     1234567     98765432  [B\nx\n");
    becomes("Waste: 12.345 KB, 2,41 MB used\n", "Waste: 12.345 KB, 2.41 MB used\n");
    becomes("(malloc=1KB #2)   <--- here\n", "(malloc=1KB #2)\n");
    becomes("in the year 1,234 it was\n", "in the year 1,234 it was\n");
}

static void lines_keep_their_numbers(void **state)
{
    (void)state;
    struct clean_text clean;
    assert_true(clean_text_make(
        &clean, SPAN_LITERAL("a\r\n\r\nb\r\n\r\nc\r\n\r\nd\r\n\r\ne\r\n\r\nf\r\n\r\ng\r\n")));
    assert_true(span_equals(clean.text, SPAN_LITERAL("a\nb\nc\nd\ne\nf\ng\n")));
    assert_int_equal(clean.line_count, 7);
    assert_int_equal(clean_text_line(&clean, clean.text.ptr), 1);
    assert_int_equal(clean_text_line(&clean, clean.text.ptr + 4), 5);
    assert_int_equal(clean_text_line(&clean, clean.text.ptr + 12), 13);
    clean_text_free(&clean);
}

/* As grep, cat, less and bat number lines; ranks and places of a table are no line numbers. */
static void line_numbers_go(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        int width;
        const char *behind;
    } forms[] = {{"", 1, ":"},  {"nmt.txt:", 1, ":"}, {"", 6, "\t"},
                 {"", 6, "  "}, {"", 1, " "},         {"", 4, " \xe2\x94\x82 "}};
    static const char *const kept[] = {
        "   1:  12  34  [B\n   2:  56  78  [C\n   3:  1  2  x\n1000:  1  2  y\n1001:  1  2  z\n",
        " 1 root\n 2 root\n 3 root\n17 root\n18 root\n",
        "- node\n10:0x1\n11:0x2\n12:0x3\n13:0x4\n14:0x5\n15:0x6\n16:0x7\n17:0x8\n- x\n- y\n- z\n- "
        "z\n- z\n- z\n",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char raw[4096];
        size_t used = 0;
        int number = 0;
        struct span rest = SPAN_LITERAL(ROWS), line;
        while (span_take_line(&rest, &line)) {
            used += (size_t)snprintf(raw + used, sizeof raw - used, "%s%*d%s", forms[i].before,
                                     forms[i].width, ++number, forms[i].behind);
            used +=
                (size_t)snprintf(raw + used, sizeof raw - used, "%.*s\n", (int)line.len, line.ptr);
        }
        becomes(raw, ROWS);
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        becomes(kept[i], kept[i]);
}

#define ESCAPED_ROWS                                                                               \
    "Native Memory Tracking:\\n\\nTotal: reserved=20KB, committed=12KB\\n"                         \
    "-                 Internal (reserved=20KB, committed=12KB)\\n"                                \
    "                            (malloc=12KB #3)\\n"

/* Exports of journald, Slack, CloudWatch and Jira; a string alone; a text twice counts once. */
static void values_of_json_hold_texts(void **state)
{
    (void)state;
    static const char *const values[] = {
        "\"" ESCAPED_ROWS "\"\n",
        "{\"level\":\"INFO\",\"message\":\"" ESCAPED_ROWS "\"}\n",
        "{\n  \"level\": \"INFO\",\n  \"message\": \"" ESCAPED_ROWS "\",\n  \"n\": [1, {}]\n}\n",
        "{\n  \"events\": [\n    {\n      \"timestamp\": 1,\n      \"message\": \"" ESCAPED_ROWS
        "\"\n    }\n  ]\n}\n",
        "{\"id\":\"1\",\"output\":\"" ESCAPED_ROWS "\",\"again\":\"" ESCAPED_ROWS "\"}\n",
        "[{\"blocks\":[{\"text\":\"" ESCAPED_ROWS "\"}],\"user\":\"U\",\"text\":\"" ESCAPED_ROWS
        "\"}]\n",
        "{\n\t\"PRIORITY\" : \"6\",\n\t\"MESSAGE\" : \"Native Memory Tracking:\"\n}\n"
        "{\n\t\"MESSAGE\" : \"\"\n}\n"
        "{\n\t\"MESSAGE\" : \"Total: reserved=20KB, committed=12KB\"\n}\n"
        "{\n\t\"MESSAGE\" : \"-                 Internal (reserved=20KB, committed=12KB)\"\n}\n"
        "{\n\t\"MESSAGE\" : [ 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, "
        "32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 40, 109, 97, 108, 108, 111, 99, 61, 49, 50, "
        "75, 66, 32, 35, 51, 41 ]\n}\n",
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        becomes(values[i], ROWS);
    becomes("{ int a;\n  b = \"x\";\n}\n[main]\n", "{ int a;\n  b = \"x\";\n}\n[main]\n");
    struct clean_text clean;
    struct span raw = SPAN_LITERAL("[\n {\"message\": \"a\"},\n {\n  \"message\": \"b\"}]\n");
    assert_true(clean_text_make(&clean, raw));
    assert_true(span_equals(clean.text, SPAN_LITERAL("a\nb\n")));
    assert_int_equal(clean_text_line(&clean, clean.text.ptr + 2), 4);
    clean_text_free(&clean);
}

static void tables_fences_and_old_line_ends(void **state)
{
    (void)state;
    becomes("| out |\n|-----|\n| 12: |\n| |--A |\n|   (x) |\n", "out\n\n12:\n|--A\n  (x)\n");
    becomes("```12:\nTotal: 1\n```text\n```\n", "12:\nTotal: 1\n\n\n");
    becomes("a\rb\r\rc\r", "a\nb\n\nc\n");
    becomes("a\rb\rc\n", "a\nb\nc\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_text_is_borrowed),
        cmocka_unit_test(what_stands_in_front_goes),
        cmocka_unit_test(histograms_of_a_narrow_screen_are_whole_again),
        cmocka_unit_test(layers_go_one_after_the_other),
        cmocka_unit_test(what_is_not_certain_stays),
        cmocka_unit_test(encodings),
        cmocka_unit_test(numbers_of_rows_lose_their_groups),
        cmocka_unit_test(line_numbers_go),
        cmocka_unit_test(values_of_json_hold_texts),
        cmocka_unit_test(tables_fences_and_old_line_ends),
        cmocka_unit_test(lines_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
