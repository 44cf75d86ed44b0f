#include "analyzers/parse/class_tables.h"

#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/parse/every_cut.h"

static const char TEXT[] =
    "Attaching to process ID 17393, please wait...\nDebugger attached successfully.\n"
    "finding class loader instances ..done.\ncomputing per loader stat ..done.\n"
    "please wait.. computing liveness.liveness analysis may be inaccurate ...\n"
    "class_loader\tclasses\tbytes\tparent_loader\talive?\ttype\n\n"
    "<bootstrap>\t615\t1081331\t  null  \tlive\t<internal>\n"
    "0x00000000f0008a10\t12\t20481\t0x00000000f000c5d8\tdead\t"
    "sun/misc/Launcher$AppClassLoader@0x000000010000f6a0\n"
    "\ntotal = 2\t627\t1101812\t    N/A    \talive=1, dead=1\t    N/A    \n";

static void the_table(void **state)
{
    (void)state;
    struct jmap_clstats stats;
    struct loader_stats_row row;
    jmap_clstats_begin(&stats, span_from_cstr(TEXT));
    assert_true(jmap_clstats_next(&stats, &row));
    assert_int_equal(row.loader_address, 0);
    assert_int_equal(row.classes, 615);
    assert_int_equal(row.chunk_bytes, 1081331);
    assert_true(jmap_clstats_next(&stats, &row));
    assert_int_equal(row.loader_address, 0xf0008a10);
    assert_int_equal(row.parent_address, 0xf000c5d8);
    assert_true(span_equals(row.type, SPAN_LITERAL("sun/misc/Launcher$AppClassLoader")));
    assert_false(jmap_clstats_next(&stats, &row));
    assert_int_equal(stats.lines.result, PARSE_OK);
    assert_int_equal(stats.lines.unknown_lines, 0);
}

static void rows_that_cannot_be_are_counted(void **state)
{
    (void)state;
    struct jmap_clstats stats;
    struct loader_stats_row row;
    jmap_clstats_begin(&stats, SPAN_LITERAL("class_loader\tclasses\tbytes\n0x1\tmany\t1\tnull\n"
                                            "0x1\t1\t2\tnull\tperhaps\tA\n"));
    assert_false(jmap_clstats_next(&stats, &row));
    assert_int_equal(stats.lines.result, PARSE_INCOMPLETE);
    assert_int_equal(stats.lines.unknown_lines, 2);
    jmap_clstats_begin(&stats, SPAN_LITERAL("hello\n"));
    assert_false(jmap_clstats_next(&stats, &row));
    assert_int_equal(stats.lines.result, PARSE_MALFORMED);
}

static void read_cut(struct span text)
{
    struct jmap_clstats stats;
    struct loader_stats_row row;
    int count = 0;
    jmap_clstats_begin(&stats, text);
    while (jmap_clstats_next(&stats, &row))
        count++;
    assert_true(count <= 2 && stats.lines.at <= text.len);
}

static void every_cut(void **state)
{
    (void)state;
    read_every_cut(TEXT, sizeof TEXT, read_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),
        cmocka_unit_test(rows_that_cannot_be_are_counted),
        cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests_name("jmap_clstats", tests, NULL, NULL);
}
