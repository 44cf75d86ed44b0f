#include "analyzers/parse/class_tables.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define HEADER "KlassAddr           Size  State                 Flags    ClassName  \n"

static void columns_may_be_empty(void **state)
{
    (void)state;
    static const struct {
        const char *state, *flags, *name;
        int64_t size_words;
        bool is_array;
    } expected[] = {
        {"fully_initialized", "W", "Grow199", 66, false},
        {"initialization_error", "", "A name with blanks", 12345678, false},
        {"a_state_longer_than_its_column", "W", "Long", 66, false},
        {"", "", "[Ljava.lang.Object;", 64, true},
        {"loaded", "", "Host$$Lambda/0x000000000a012345", 65, false},
    };
    struct classes classes;
    struct classes_row row;
    classes_begin(
        &classes,
        SPAN_LITERAL(
            "6481:\n" HEADER "0x000000006a0d2800    66  fully_initialized     W        Grow199  \n"
            "0x000000006a0d2800  12345678  initialization_error           A name with blanks  \n"
            "0x000000006a0d2800    66  a_state_longer_than_its_column  W        Long  \n"
            "0x00000000691724f0    64                                 [Ljava.lang.Object;  \n"
            "0x00000000691724f0    65  loaded                         "
            "Host$$Lambda/0x000000000a012345  \n"));
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_true(classes_next(&classes, &row));
        assert_true(span_equals(row.state, span_from_cstr(expected[i].state)));
        assert_true(span_equals(row.flags, span_from_cstr(expected[i].flags)));
        assert_true(span_equals(row.name, span_from_cstr(expected[i].name)));
        assert_int_equal(row.size_words, expected[i].size_words);
        assert_int_equal(row.is_array, expected[i].is_array);
    }
    assert_false(classes_next(&classes, &row));
    assert_int_equal(classes.lines.result, PARSE_OK);
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
        {HEADER, PARSE_OK, 0},
        {HEADER "0x01    66  loaded                W        A  \n0x01    66  load",
         PARSE_INCOMPLETE, 1},
        {HEADER "0x01    66  loaded                W        A  \nBaseline taken\n", PARSE_OK, 1},
        {HEADER "0x01    66  loaded  W  A\n", PARSE_MALFORMED, 0},
        {HEADER "0xzz    66  loaded                W        A  \n", PARSE_MALFORMED, 0},
        {HEADER "0x01    66  loaded                W          \n", PARSE_MALFORMED, 0},
        {"num  #instances\n", PARSE_MALFORMED, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct classes classes;
        struct classes_row row;
        int rows = 0;
        classes_begin(&classes, span_from_cstr(cases[i].text));
        while (classes_next(&classes, &row))
            rows++;
        assert_int_equal(classes.lines.result, cases[i].result);
        assert_int_equal(rows, cases[i].rows);
    }
}

static void details_of_verbose_are_passed_over(void **state)
{
    (void)state;
    struct classes classes;
    struct classes_row row;
    classes_begin(&classes,
                  SPAN_LITERAL(HEADER "0x01    66  loaded                W        A  \n"
                                      "   - super: 'java/lang/Object'\n\n"
                                      "0x02    66  loaded                W        B  \n"));
    assert_true(classes_next(&classes, &row) && classes_next(&classes, &row));
    assert_true(span_equals(row.name, SPAN_LITERAL("B")));
    assert_int_equal(classes.lines.unknown_lines, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_may_be_empty),
        cmocka_unit_test(ends_tell_why),
        cmocka_unit_test(details_of_verbose_are_passed_over),
    };
    return cmocka_run_group_tests_name("parse/classes", tests, NULL, NULL);
}
