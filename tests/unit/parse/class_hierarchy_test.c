#include "analyzers/parse/class_tables.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static const char *const tree =
    "32498:\n"
    "java.lang.Object/null\n"
    "|--HidTmpl/0x00007f1c7802f400/0x00007f1cec221a60\n"
    "|--java.lang.ref.Reference/null\n"
    "|  implements java.util.Map/null (declared intf)\n"
    "|  |--jdk.internal.reflect.GeneratedMethodAccessor1/0x0000000000000abc (invokes: "
    "java/util/ArrayList::get (I)Ljava/lang/Object;)\n"
    "|--java.util.Map/null (intf)\n"
    "|--a name with blanks/null\n";

static void names_loaders_and_depths(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int depth;
        uint64_t loader;
        bool is_interface;
        const char *invokes;
    } expected[] = {
        {"java.lang.Object", 0, 0, false, ""},
        {"HidTmpl/0x00007f1c7802f400", 1, UINT64_C(0x7f1cec221a60), false, ""},
        {"java.lang.ref.Reference", 1, 0, false, ""},
        {"jdk.internal.reflect.GeneratedMethodAccessor1", 2, 0xabc, false,
         "java/util/ArrayList::get (I)Ljava/lang/Object;"},
        {"java.util.Map", 1, 0, true, ""},
        {"a name with blanks", 1, 0, false, ""},
    };
    struct class_hierarchy hierarchy;
    struct class_hierarchy_row row;
    class_hierarchy_begin(&hierarchy, span_from_cstr(tree));
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_true(class_hierarchy_next(&hierarchy, &row));
        assert_true(span_equals(row.name, span_from_cstr(expected[i].name)));
        assert_int_equal(row.depth, expected[i].depth);
        assert_true(row.loader_address == expected[i].loader);
        assert_int_equal(row.is_interface, expected[i].is_interface);
        assert_true(span_equals(row.invokes, span_from_cstr(expected[i].invokes)));
    }
    assert_false(class_hierarchy_next(&hierarchy, &row));
    assert_int_equal(hierarchy.lines.result, PARSE_OK);
    assert_int_equal(hierarchy.lines.unknown_lines, 0);
    assert_int_equal(hierarchy.rows, 6);
}

static void half_a_line_is_incomplete(void **state)
{
    (void)state;
    struct class_hierarchy hierarchy;
    struct class_hierarchy_row row;
    class_hierarchy_begin(&hierarchy, SPAN_LITERAL("java.lang.Object/null\n|--Foo/nul"));
    assert_true(class_hierarchy_next(&hierarchy, &row));
    assert_false(class_hierarchy_next(&hierarchy, &row));
    assert_int_equal(hierarchy.lines.result, PARSE_INCOMPLETE);
    assert_int_equal(hierarchy.lines.at, strlen("java.lang.Object/null\n"));
    class_hierarchy_begin(&hierarchy, SPAN_LITERAL(""));
    assert_false(class_hierarchy_next(&hierarchy, &row));
    assert_int_equal(hierarchy.lines.result, PARSE_INCOMPLETE);
}

static void stops_where_another_reply_begins(void **state)
{
    (void)state;
    struct class_hierarchy hierarchy;
    struct class_hierarchy_row row;
    struct span text = SPAN_LITERAL("java.lang.Object/null\n|--Foo/null\nBaseline taken\n");
    class_hierarchy_begin(&hierarchy, text);
    while (class_hierarchy_next(&hierarchy, &row))
        ;
    assert_int_equal(hierarchy.lines.result, PARSE_OK);
    assert_string_equal(text.ptr + hierarchy.lines.at, "Baseline taken\n");
}

static void damaged_lines_are_counted(void **state)
{
    (void)state;
    struct class_hierarchy hierarchy;
    struct class_hierarchy_row row;
    class_hierarchy_begin(&hierarchy, SPAN_LITERAL("java.lang.Object/null\n|--NoLoader\n"
                                                   "|--Bad/0x00zz\n|--Cut/null (invokes: x\n"
                                                   "|--Good/null\n"));
    assert_true(class_hierarchy_next(&hierarchy, &row));
    assert_true(class_hierarchy_next(&hierarchy, &row));
    assert_true(span_equals(row.name, SPAN_LITERAL("Good")));
    assert_int_equal(hierarchy.lines.unknown_lines, 3);
    assert_true(span_equals(hierarchy.lines.first_unknown, SPAN_LITERAL("|--NoLoader")));
    class_hierarchy_begin(&hierarchy, SPAN_LITERAL("Unknown diagnostic command\n"));
    assert_false(class_hierarchy_next(&hierarchy, &row));
    assert_int_equal(hierarchy.lines.result, PARSE_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_loaders_and_depths),
        cmocka_unit_test(half_a_line_is_incomplete),
        cmocka_unit_test(stops_where_another_reply_begins),
        cmocka_unit_test(damaged_lines_are_counted),
    };
    return cmocka_run_group_tests_name("parse/class_hierarchy", tests, NULL, NULL);
}
