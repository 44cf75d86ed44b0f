#include "analyzers/parse/class_tables.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define HEADER                                                                                     \
    " num     #instances         #bytes  class name (module)\n"                                    \
    "-------------------------------------------------------\n"
#define TOTAL "Total         38861        1736544\n"

static void the_module_is_split_off(void **state)
{
    (void)state;
    static const struct {
        const char *name, *module;
    } expected[] = {
        {"[B", "java.base@17.0.21.0.3"},
        {"Sample", ""},
        {"a name (with blanks)x", ""},
        {"Big", "my.module"},
    };
    struct class_histogram histogram;
    struct class_histogram_row row;
    class_histogram_begin(
        &histogram, SPAN_LITERAL("1:\n" HEADER
                                 "   1:          8701         390712  [B (java.base@17.0.21.0.3)\n"
                                 "   2:             3             30  Sample\n"
                                 "   3:             2             20  a name (with blanks)x\n"
                                 "10000: 12345678901234 123456789012345  Big (my.module)\n" TOTAL));
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_true(class_histogram_next(&histogram, &row));
        assert_true(span_equals(row.name, span_from_cstr(expected[i].name)));
        assert_true(span_equals(row.module, span_from_cstr(expected[i].module)));
    }
    assert_int_equal(row.rank, 10000);
    assert_int_equal(row.instances, 12345678901234);
    assert_int_equal(row.bytes, 123456789012345);
    assert_false(class_histogram_next(&histogram, &row));
    assert_int_equal(histogram.lines.result, PARSE_OK);
    assert_true(histogram.total.present);
    assert_int_equal(histogram.total.instances, 38861);
    assert_int_equal(histogram.total.bytes, 1736544);
}

static void ends_tell_why(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum parse_result result;
        int rows;
    } cases[] = {
        {"", PARSE_INCOMPLETE, 0},
        {HEADER, PARSE_INCOMPLETE, 0},
        {HEADER TOTAL, PARSE_OK, 0},
        {HEADER "   1:  2  3  A\n   2:  1  1  B", PARSE_INCOMPLETE, 1},
        {HEADER "   1:  2  3  A\nTotal  2  3", PARSE_INCOMPLETE, 1},
        {HEADER "   1:  2  3  A\nTotal  2  3\nBaseline taken\n", PARSE_OK, 1},
        {HEADER "   1:  2  3\n", PARSE_MALFORMED, 0},
        {HEADER "   1:  2  -3  A\n", PARSE_MALFORMED, 0},
        {HEADER "Total  2\n", PARSE_MALFORMED, 0},
        {"Usage:\n", PARSE_MALFORMED, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct class_histogram histogram;
        struct class_histogram_row row;
        int rows = 0;
        class_histogram_begin(&histogram, span_from_cstr(cases[i].text));
        while (class_histogram_next(&histogram, &row))
            rows++;
        assert_int_equal(histogram.lines.result, cases[i].result);
        assert_int_equal(rows, cases[i].rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_module_is_split_off),
        cmocka_unit_test(ends_tell_why),
    };
    return cmocka_run_group_tests_name("parse/class_histogram", tests, NULL, NULL);
}
