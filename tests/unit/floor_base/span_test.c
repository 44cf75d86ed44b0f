#include "floor/base/span.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void lines_lose_their_ends(void **state)
{
    (void)state;
    struct span rest = SPAN_LITERAL("one\r\n\ntwo"), line;
    bool terminated;
    assert_true(span_next_line(&rest, &line, &terminated));
    assert_true(terminated && span_equals(line, SPAN_LITERAL("one")));
    assert_true(span_next_line(&rest, &line, &terminated));
    assert_true(terminated && line.len == 0);
    assert_true(span_next_line(&rest, &line, &terminated));
    assert_true(!terminated && span_equals(line, SPAN_LITERAL("two")));
    assert_false(span_next_line(&rest, &line, &terminated));
}

static void numbers_at_the_edge_of_int64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
        size_t left;
    } cases[] = {
        {"0", true, 0, 0},
        {"42KB", true, 42, 2},
        {"-7 ", true, -7, 1},
        {"+7", true, 7, 0},
        {"9223372036854775807", true, INT64_MAX, 0},
        {"-9223372036854775808", true, INT64_MIN, 0},
        {"9223372036854775808", false, 0, 19},
        {"99999999999999999999999", false, 0, 23},
        {"", false, 0, 0},
        {"-", false, 0, 1},
        {"KB", false, 0, 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct span text = span_from_cstr(cases[i].text);
        int64_t value = 0;
        assert_int_equal(span_take_i64(&text, &value), cases[i].ok);
        assert_true(value == cases[i].value);
        assert_int_equal(text.len, cases[i].left);
    }
}

static void unsigned_numbers_take_no_sign(void **state)
{
    (void)state;
    struct span text = SPAN_LITERAL("+1");
    int64_t value = 99;
    assert_false(span_take_unsigned(&text, &value));
    assert_int_equal(value, 99);
    text = SPAN_LITERAL("12)");
    assert_true(span_take_unsigned(&text, &value));
    assert_int_equal(value, 12);
}

static void hex_has_at_most_16_digits(void **state)
{
    (void)state;
    uint64_t value = 0;
    struct span text = SPAN_LITERAL("00007F1cec12cf90 x");
    assert_true(span_take_hex(&text, &value));
    assert_true(value == UINT64_C(0x7f1cec12cf90) && text.len == 2);
    text = SPAN_LITERAL("ffffffffffffffff");
    assert_true(span_take_hex(&text, &value) && value == UINT64_MAX);
    text = SPAN_LITERAL("11112222333344445");
    assert_false(span_take_hex(&text, &value));
    assert_int_equal(text.len, 17);
    text = SPAN_LITERAL("g");
    assert_false(span_take_hex(&text, &value));
}

static void finds_and_prefixes(void **state)
{
    (void)state;
    struct span text = SPAN_LITERAL("a source: b");
    assert_int_equal(span_find(text, SPAN_LITERAL(" source: ")), 1);
    assert_int_equal(span_find(text, SPAN_LITERAL("nowhere")), -1);
    assert_int_equal(span_find(SPAN_LITERAL("a"), SPAN_LITERAL("abc")), -1);
    assert_true(span_ends_with(text, SPAN_LITERAL(": b")));
    assert_false(span_ends_with(SPAN_LITERAL("b"), SPAN_LITERAL(": b")));
    assert_true(span_take(&text, SPAN_LITERAL("a ")));
    assert_false(span_take(&text, SPAN_LITERAL("a ")));
    assert_int_equal(span_trim(SPAN_LITERAL(" \t x y \r")).len, 3);
    assert_int_equal(span_from_cstr(NULL).len, 0);
}

static void copies_end_at_whole_characters(void **state)
{
    (void)state;
    char out[5];
    span_copy(SPAN_LITERAL("ab"), out, sizeof out);
    assert_string_equal(out, "ab");
    span_copy(SPAN_LITERAL("abc\xc3\xa9"), out, sizeof out); /* the e with its accent: 2 bytes */
    assert_string_equal(out, "abc");
    span_copy(SPAN_LITERAL("ab\xc3\xa9z"), out, sizeof out);
    assert_string_equal(out, "ab\xc3\xa9");
    span_copy(SPAN_LITERAL("abc"), out, 1);
    assert_string_equal(out, "");
}

static void utf8_has_one_to_four_bytes(void **state)
{
    (void)state;
    static const uint32_t codes[] = {'A', 0xe4, 0x20ac, 0x1f600};
    char text[16];
    size_t used = 0;
    for (size_t i = 0; i < 4; i++)
        used += utf8_put(text + used, codes[i]);
    assert_int_equal(used, 10);
    assert_memory_equal(text, "A\u00e4\u20ac\U0001f600", used);
}

static void tables_are_searched_by_their_marks(void **state)
{
    (void)state;
    static const struct {
        struct span mark;
        int kind;
    } rows[] = {{SPAN_INIT("ab"), 1}, {SPAN_INIT("abc"), 2}, {SPAN_INIT("x"), 3}};
    assert_int_equal(span_row(SPAN_LITERAL("abc"), span_equals, SPAN_TABLE(rows)), 1);
    assert_int_equal(span_row(SPAN_LITERAL("abc"), span_starts_with, SPAN_TABLE(rows)), 0);
    assert_int_equal(span_row(SPAN_LITERAL("1x"), span_contains, SPAN_TABLE(rows)), 2);
    assert_int_equal(span_row(SPAN_LITERAL(""), span_contains, SPAN_TABLE(rows)), -1);
}

static void one_of_several_patterns_fits(void **state)
{
    (void)state;
    assert_true(span_fits_one(SPAN_LITERAL("xby"), "a|b", span_contains));
    assert_false(span_fits_one(SPAN_LITERAL("xby"), "a|by|c", span_equals));
    assert_false(span_fits_one(SPAN_LITERAL("xby"), "", span_contains));
    assert_true(span_is_like(SPAN_LITERAL("org.A$B[]"), SPAN_LITERAL("org.*[]")));
    assert_true(span_is_like(SPAN_LITERAL("abab"), SPAN_LITERAL("*ab")));
    assert_true(span_is_like(SPAN_LITERAL(""), SPAN_LITERAL("**")));
    assert_false(span_is_like(SPAN_LITERAL("abc"), SPAN_LITERAL("a*b")));
    assert_false(span_is_like(SPAN_LITERAL(""), SPAN_LITERAL("a")));
}

static void what_is_behind_a_mark_is_read_or_left(void **state)
{
    (void)state;
    struct span text = SPAN_LITERAL("used 12K, max=9, end 3");
    int64_t value = -5;
    assert_false(number_behind(text, SPAN_LITERAL("min="), &value));
    assert_false(number_behind(text, SPAN_LITERAL("used"), &value)); /* a blank is not a number */
    assert_int_equal(value, -5);
    assert_true(number_behind(text, SPAN_LITERAL("max="), &value));
    assert_int_equal(value, 9);
    assert_true(size_behind(text, SPAN_LITERAL("used "), &value));
    assert_int_equal(value, 12 << 10);
    assert_false(whole_size_behind(text, SPAN_LITERAL("end "), &value)); /* cut, perhaps */
    text = SPAN_LITERAL("end 3\n");
    assert_true(whole_size_behind(text, SPAN_LITERAL("end "), &value));
    assert_int_equal(value, 3);
}

static void stems_have_a_mark_for_each_number(void **state)
{
    (void)state;
    char out[16];
    span_copy_stem(SPAN_LITERAL("pool-3-thread-12"), out, sizeof out);
    assert_string_equal(out, "pool-#-thread-#");
    span_copy_stem(SPAN_LITERAL("2024"), out, 2);
    assert_string_equal(out, "#");
}

static void java_versions_have_a_major_number(void **state)
{
    (void)state;
    assert_int_equal(java_major(SPAN_LITERAL("17.0.21")), 17);
    assert_int_equal(java_major(SPAN_LITERAL("1.8.0_504")), 8);
    assert_int_equal(java_major(SPAN_LITERAL("8.0_504")), 8);
    assert_int_equal(java_major(SPAN_LITERAL("25")), 25);
    assert_int_equal(java_major(SPAN_LITERAL("dev")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_lose_their_ends),
        cmocka_unit_test(numbers_at_the_edge_of_int64),
        cmocka_unit_test(unsigned_numbers_take_no_sign),
        cmocka_unit_test(hex_has_at_most_16_digits),
        cmocka_unit_test(finds_and_prefixes),
        cmocka_unit_test(copies_end_at_whole_characters),
        cmocka_unit_test(utf8_has_one_to_four_bytes),
        cmocka_unit_test(tables_are_searched_by_their_marks),
        cmocka_unit_test(one_of_several_patterns_fits),
        cmocka_unit_test(what_is_behind_a_mark_is_read_or_left),
        cmocka_unit_test(stems_have_a_mark_for_each_number),
        cmocka_unit_test(java_versions_have_a_major_number),
    };
    return cmocka_run_group_tests_name("floor_base/span", tests, NULL, NULL);
}
