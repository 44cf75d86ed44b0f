/* The table of `nmtwatch observe PID methods`, as it was pasted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/parse/class_tables.h"
#include "analyzers/parse/text_kind.h"

static const char TEXT[] = "4:\n"
                           "pid 4 (Main (a): 7 methods in 1 classes of 1 class loaders): "
                           "1 011 473 methods in 64 400 classes of 12 class loaders\n"
                           "Without the boot loader's: 1 340 in 132 classes, 10.2 a class\n"
                           "jmethodIDs: 6\n"
                           "\n"
                           "  classes  methods  a class  family\n"
                           "       88    1 955     22.2  java.lang.*\n"
                           "    1 118    1 298      1.2  com.acme.Gen# (two words)\n"
                           "    a line of something else\n"
                           "       31      472     15.2  java.io.*\n";

static void rows_and_sums(void **state)
{
    (void)state;
    struct methods_table table;
    struct methods_row row;
    assert_true(methods_table_begin(&table, span_from_cstr(TEXT)));
    assert_int_equal(table.methods, 1011473);
    assert_int_equal(table.classes, 64400);
    assert_int_equal(table.loaders, 12);
    assert_int_equal(table.own_methods, 1340);
    assert_int_equal(table.own_classes, 132);
    assert_false(table.by_agent);
    assert_true(methods_table_next(&table, &row));
    assert_int_equal(row.classes, 88);
    assert_int_equal(row.methods, 1955);
    assert_true(span_equals(row.family, SPAN_LITERAL("java.lang.*")));
    assert_true(methods_table_next(&table, &row));
    assert_int_equal(row.classes, 1118);
    assert_true(span_equals(row.family, SPAN_LITERAL("com.acme.Gen# (two words)")));
    assert_true(methods_table_next(&table, &row));
    assert_int_equal(row.methods, 472);
    assert_false(methods_table_next(&table, &row));
}

static void what_is_no_table(void **state)
{
    (void)state;
    struct methods_table table;
    struct methods_row row;
    static const char *const TEXTS[] = {
        "", "pid 4 (Main): ", "pid 4 (Main): x methods in 2 classes of 1 class loaders",
        "pid 4 (Main): 9 methods in  classes of 1 class loaders"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        assert_false(methods_table_begin(&table, span_from_cstr(TEXTS[i])));
        assert_false(methods_table_next(&table, &row));
    }
    /* Numbers without an end. */
    methods_table_begin(&table,
                        span_from_cstr("pid 1 (a): 999 999 999 999 999 999 999 999 999 "
                                       "methods in 1 classes of 1 class loaders, by the agent"));
    methods_table_begin(&table,
                        span_from_cstr("pid 1 (a): 12 methods in 1 classes of 1 class loaders, "
                                       "counted by the agent"));
    assert_true(table.by_agent);
    assert_int_equal(table.own_methods, -1);
}

static void is_recognised(void **state)
{
    (void)state;
    struct text_parts parts;
    struct text_part part;
    text_parts_begin(&parts, span_from_cstr(TEXT));
    assert_true(text_parts_next(&parts, &part));
    assert_int_equal(part.kind, TEXT_METHODS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_sums),
        cmocka_unit_test(what_is_no_table),
        cmocka_unit_test(is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
