#include "reports/text/escape.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *escaped(enum escape_for destination, const char *text)
{
    static char out[512];
    size_t length = escape(destination, text, out, sizeof out);

    assert_int_equal(length, strlen(out));
    return out;
}

static void test_each_destination_quotes_its_own_syntax(void **state)
{
    static const struct {
        enum escape_for destination;
        const char *text, *expected;
    } CASES[] = {
        {ESCAPE_TERMINAL, "org.example.Main$1", "org.example.Main$1"},
        {ESCAPE_TERMINAL, "a\033[2Jb\n\tc\177", "a\\x1b[2Jb\\x0a\\x09c\\x7f"},
        {ESCAPE_TERMINAL,
         "\xc2\x9b"
         "31m",
         "\\u009b31m"},
        {ESCAPE_TERMINAL, "x\xe2\x80\xaegpj.y", "x\\u202egpj.y"},
        {ESCAPE_TERMINAL, "\xf3\xa0\x80\x81", "\\U000e0001"},
        {ESCAPE_TERMINAL, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {ESCAPE_TERMINAL, "\xff\xc0\x80\xed\xa0\x80", "\\xff\\xc0\\x80\\xed\\xa0\\x80"},
        {ESCAPE_TERMINAL, "cut\xe2\x82", "cut\\xe2\\x82"},
        {ESCAPE_HTML, "<b a=\"1\" c='2'>&", "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;"},
        {ESCAPE_HTML, "\033", "\\x1b"},
        {ESCAPE_MARKDOWN, "a|b*c_d`e<f>[g]\\", "a\\|b\\*c\\_d\\`e&lt;f&gt;\\[g\\]\\\\"},
        {ESCAPE_MARKDOWN, "a\nb", "a\\x0ab"},
        {ESCAPE_GNUPLOT, "it's `id` \"x\" \\n", "it''s `id` \"x\" \\n"},
        {ESCAPE_GNUPLOT, "a\nsystem('x')", "a\\x0asystem(''x'')"},
        {ESCAPE_PLUGIN, "a|b\nc", "a/b\\x0ac"},
        {ESCAPE_CSV, "=HYPERLINK(\"x\")\n", "'=HYPERLINK(\"\"x\"\")\\x0a"},
        {ESCAPE_CSV, "a=b,[B", "a=b,[B"},
        {ESCAPE_JSON, "\"\\\n\xc2\x85\xe2\x80\xae", "\\\"\\\\\\n\\u0085\\u202e"},
        {ESCAPE_JSON, "\xff", "\xef\xbf\xbd"},
        {ESCAPE_UTF8, "a\n\xff\xe2\x80\xae", "a\n\xef\xbf\xbd\xe2\x80\xae"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        assert_string_equal(escaped(CASES[i].destination, CASES[i].text), CASES[i].expected);
}

static void test_never_cut_inside_a_character_or_an_escape(void **state)
{
    const char *text = "\xe2\x82\xac<\033";
    char out[32];
    (void)state;

    for (size_t size = 1; size < 16; size++) {
        memset(out, '#', sizeof out);
        size_t length = escape(ESCAPE_HTML, text, out, size);
        assert_true(length < size);
        assert_int_equal(out[length], '\0');
        assert_int_equal(out[size], '#');
        assert_true(length == 0 || length == 3 || length == 7 || length == 11);
    }
    assert_int_equal(escape(ESCAPE_HTML, text, out, 3), 0);
    assert_int_equal(escape(ESCAPE_HTML, text, out, 4), 3);
    assert_int_equal(escape(ESCAPE_HTML, text, out, 12), 11);
}

static void test_growth_holds_for_every_byte(void **state)
{
    (void)state;

    for (int destination = ESCAPE_UTF8; destination <= ESCAPE_JSON; destination++) {
        for (int byte = 1; byte < 256; byte++) {
            char text[] = {(char)byte, (char)byte, '\0'};
            assert_true(strlen(escaped((enum escape_for)destination, text)) <= 2 * ESCAPE_GROWTH);
        }
    }
}

/* Every code point, as UTF-8, comes back from JSON as it was. */
static void test_json_reads_back_equal(void **state)
{
    (void)state;

    for (uint32_t code = 1; code <= 0x10ffff; code += code < 0x3000 ? 1 : 97) {
        char text[8], json[64];
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        int n = code < 0x80    ? snprintf(text, sizeof text, "%c", (int)code)
                : code < 0x800 ? snprintf(text, sizeof text, "%c%c", (int)(0xc0 | code >> 6),
                                          (int)(0x80 | (code & 0x3f)))
                : code < 0x10000
                    ? snprintf(text, sizeof text, "%c%c%c", (int)(0xe0 | code >> 12),
                               (int)(0x80 | (code >> 6 & 0x3f)), (int)(0x80 | (code & 0x3f)))
                    : snprintf(text, sizeof text, "%c%c%c%c", (int)(0xf0 | code >> 18),
                               (int)(0x80 | (code >> 12 & 0x3f)), (int)(0x80 | (code >> 6 & 0x3f)),
                               (int)(0x80 | (code & 0x3f)));
        text[n] = '\0';
        snprintf(json, sizeof json, "[\"%s\"]", escaped(ESCAPE_JSON, text));
        json_t *array = json_loads(json, 0, NULL);
        assert_non_null(array);
        assert_string_equal(json_string_value(json_array_get(array, 0)), text);
        json_decref(array);
    }
}

/* Whatever the bytes, the result is valid UTF-8 without control characters. */
static void test_random_bytes_come_out_harmless(void **state)
{
    unsigned seed = 12345;
    (void)state;

    for (int round = 0; round < 20000; round++) {
        char text[40];
        int n = (int)(seed % sizeof text);
        for (int i = 0; i < n; i++) {
            seed = seed * 1103515245 + 12345;
            text[i] = (char)(seed >> 16 ? seed >> 16 : 1);
        }
        text[n] = '\0';
        seed++;
        for (int destination = ESCAPE_TERMINAL; destination <= ESCAPE_JSON; destination++) {
            const char *out = escaped((enum escape_for)destination, text);
            json_t *valid = json_string(out);
            assert_non_null(valid); /* jansson checks UTF-8 */
            json_decref(valid);
            for (const char *at = out; *at; at++)
                assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        }
    }
}

static void test_columns_are_characters(void **state)
{
    (void)state;

    assert_int_equal(escape_columns("caf\xc3\xa9"), 4);
    assert_int_equal(escape_columns(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_destination_quotes_its_own_syntax),
        cmocka_unit_test(test_never_cut_inside_a_character_or_an_escape),
        cmocka_unit_test(test_growth_holds_for_every_byte),
        cmocka_unit_test(test_json_reads_back_equal),
        cmocka_unit_test(test_random_bytes_come_out_harmless),
        cmocka_unit_test(test_columns_are_characters),
    };
    return cmocka_run_group_tests_name("reports/escape", tests, NULL, NULL);
}
