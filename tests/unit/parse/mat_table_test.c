/* Tables of Eclipse MAT as text. */
#include "analyzers/parse/tool_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/parse/every_cut.h"

struct expected {
    const char *name;
    int64_t instances, bytes;
    bool is_loader;
};

static void rows_are(const char *text, const struct expected *rows, int count)
{
    struct mat_table table;
    struct mat_row row;
    int at = 0;
    mat_table_begin(&table, span_from_cstr(text));
    while (mat_table_next(&table, &row)) {
        char name[128];
        assert_true(at < count);
        span_copy(row.name, name, sizeof name);
        assert_string_equal(name, rows[at].name);
        assert_int_equal(row.instances, rows[at].instances);
        assert_int_equal(row.bytes, rows[at].bytes);
        assert_int_equal(row.is_loader, rows[at].is_loader);
        at++;
    }
    assert_int_equal(at, count);
}

static void a_histogram(void **state)
{
    (void)state;
    static const struct expected rows[] = {{"byte[]", 812004, 91402128, false},
                                           {"com.acme.Order", 41, 984, false}};
    rows_are("Class Name     | Objects | Shallow Heap | Retained Heap\n"
             "-----------------------------------------------------\n"
             "byte[]         | 812,004 |   91,402,128 | >= 91,402,128\n"
             "com.acme.Order |      41 |          984 |      >= 1,984\n",
             rows, 2);
    rows_are("\"Class Name\",\"Objects\",\"Shallow Heap\"\n"
             "byte[],812004,91402128,\n"
             "com.acme.Order,41,984,\n",
             rows, 2);
    rows_are("| Class Name | Objects | Shallow Heap |\n| byte[] | 812.004 | 91.402.128 |\n"
             "| com.acme.Order | 41 | 984 |\n",
             rows, 2);
}

static void figures_on_the_next_line(void **state)
{
    (void)state;
    static const struct expected rows[] = {{"com.acme.Order$Line", 7171, 401627, false},
                                           {"java.lang.Object[]", 512, 1352, false}};
    rows_are("Class Name\n\nObjects\n\nShallow Heap\n\n"
             "[com.acme.Order$Line](mat://object/0x7016)\n"
             "[First 10 of 7,171 objects](mat://query/x+0x7017) 7,171 401,627 \n"
             "[java.lang.Object[]](mat://object/0x7000)\n"
             "[First 10 of 512 objects](mat://query/x) 512 1,352 \n",
             rows, 2);
}

static void class_loaders(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {"org.apache.catalina.loader.ParallelWebappClassLoader", 4011, -1, true},
        {"com.acme.PluginLoader", 12, -1, true}};
    rows_are("Class Name | Defined Classes | No. of Instances\n"
             "org.apache.catalina.loader.ParallelWebappClassLoader @ 0x70a0 | 4,011 | 81,204\n"
             "|- com.acme.PluginLoader @ 0x70a1 | 12 | 3\n",
             rows, 2);
}

static void a_leak_report(void **state)
{
    (void)state;
    static const struct expected rows[] = {{"java.util.zip.Inflater", 12, 1248, false},
                                           {"com.acme.Cache", 1, 401627128, false}};
    rows_are("Problem Suspect 1\n\n"
             "12 instances of \"java.util.zip.Inflater\", loaded by \"<system class loader>\" "
             "occupy 1,248 (0.01%) bytes.\n"
             "The class \"com.acme.Cache\", loaded by \"com.acme.Loader @ 0x70a\", occupies "
             "401,627,128 (41.22%) bytes.\n",
             rows, 2);
}

static void what_is_no_table(void **state)
{
    (void)state;
    assert_true(mat_table_is_heading(SPAN_LITERAL("Class Name | Objects | Shallow Heap")));
    assert_true(
        mat_table_is_heading(SPAN_LITERAL("One instance of \"a.B\" occupies 12 (1.0%) bytes")));
    assert_false(mat_table_is_heading(SPAN_LITERAL("Class Name of the driver: com.acme.Driver")));
    assert_false(mat_table_is_heading(SPAN_LITERAL("the heap occupies 12 bytes")));
    assert_false(mat_table_is_heading(SPAN_LITERAL("")));
}

static void read_cut(struct span text)
{
    struct mat_table table;
    struct mat_row row;
    int count = 0;
    mat_table_begin(&table, text);
    while (mat_table_next(&table, &row))
        count++;
    assert_true(count <= 3);
}

static void every_cut(void **state)
{
    (void)state;
    static const char TEXT[] =
        "Class Name | Objects | Shallow Heap\n[a.B[]](mat://x\n1,2 '3 | 4,000\n"
        "12 instances of \"a.B @ 0x1\" occupy 1,248 (0.01%) bytes\n";
    read_every_cut(TEXT, sizeof TEXT, read_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_histogram),      cmocka_unit_test(figures_on_the_next_line),
        cmocka_unit_test(class_loaders),    cmocka_unit_test(a_leak_report),
        cmocka_unit_test(what_is_no_table), cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests_name("mat_table", tests, NULL, NULL);
}
