/* Rows of jstat. */
#include "analyzers/parse/tool_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/parse/every_cut.h"

static const char TEXT[] = " S0C    S1C    S0U    S1U      EC       EU        OC         OU       "
                           "MC     MU    CCSC   CCSU   YGC     YGCT    FGC    FGCT     GCT\n"
                           "10.0  20.0   0.0    5.0    100.0    50.0     1000.0     990.0   64.0  "
                           "60.0 8.0 7.0     12    1.1   4    0.6    1.7\n";

static void sizes(void **state)
{
    (void)state;
    struct jstat jstat;
    jstat_read(&jstat, SPAN_LITERAL(TEXT));
    assert_int_equal(jstat.rows, 1);
    assert_int_equal(jstat.heap_used_bytes, (5 + 50 + 990) * 1024);
    assert_int_equal(jstat.heap_committed_bytes, (10 + 20 + 100 + 1000) * 1024);
    assert_int_equal(jstat.old_percent, 99);
    assert_int_equal(jstat.metaspace_used_bytes, 60 * 1024);
    assert_int_equal(jstat.full_gcs, 4);
}

static void percent_the_last_row_counts(void **state)
{
    (void)state;
    struct jstat jstat;
    jstat_read(
        &jstat,
        SPAN_LITERAL(
            "  S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     GCT\n"
            "  0.00  99.92  35.27  54.30  95.56  90.33     12    1.140    14  612.001  613.141\n"
            "  0,00  99,92  35,27  99,98  95,56      -     12    1,140   820  612,001  613,141\n"
            "  0.00  99.92  35.27\n"));
    assert_int_equal(jstat.rows, 2);
    assert_int_equal(jstat.old_percent, 99);
    assert_int_equal(jstat.full_gcs, 820);
    assert_int_equal(jstat.heap_used_bytes, -1);
}

static void headings(void **state)
{
    (void)state;
    assert_false(jstat_is_heading(SPAN_LITERAL("S0 is a space")));
    assert_false(jstat_is_heading(SPAN_LITERAL("")));
    assert_true(jstat_is_heading(SPAN_LITERAL("  S0  S1  E  O  P  YGC  YGCT  FGC  FGCT  GCT")));
}

static void read_cut(struct span text)
{
    struct jstat cut;
    jstat_read(&cut, text);
}

static void every_cut(void **state)
{
    (void)state;
    read_every_cut(TEXT, sizeof TEXT, read_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(percent_the_last_row_counts),
        cmocka_unit_test(headings),
        cmocka_unit_test(every_cut),
    };
    return cmocka_run_group_tests_name("jstat", tests, NULL, NULL);
}
