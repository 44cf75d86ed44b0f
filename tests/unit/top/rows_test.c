/* The list of `top`: which columns fit, how versions, containers and series are written. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/top/rows.h"

#include <stdio.h>
#include <string.h>

static int used(const int widths[static TOP_COLUMNS])
{
    int sum = -1;
    for (int i = 0; i < TOP_COLUMNS; i++)
        sum += widths[i] > 0 ? widths[i] + 1 : 0;
    return sum;
}

static void test_layout(void **state)
{
    int widths[TOP_COLUMNS];
    (void)state;
    for (int width = 1; width < 400; width++) {
        rows_layout(TOP_ALL, TOP_LOADS, width, widths);
        assert_true(widths[TOP_PID] > 0);
        if (width >= 40) {
            assert_true(used(widths) <= width);
            assert_true(widths[TOP_LOADS] > 0); /* what is sorted by stays */
        }
    }
    rows_layout(TOP_ALL, TOP_RSS, 80, widths);
    assert_int_equal(widths[TOP_TREND], 0);
    assert_true(widths[TOP_FINDING] > 0 && widths[TOP_INTERNAL] > 0 && widths[TOP_MAIN] >= 14);
    rows_layout(TOP_ALL, TOP_RSS, 200, widths);
    for (int i = 0; i < TOP_COLUMNS; i++)
        assert_true(widths[i] >= top_column_row((enum top_column)i)->width);
    assert_int_equal(used(widths), 200);
    rows_layout(1u << TOP_TREND, TOP_RSS, 80, widths);
    assert_true(widths[TOP_PID] > 0 && widths[TOP_TREND] > 0 && widths[TOP_RSS] == 0);
}

static void test_columns(void **state)
{
    unsigned columns;
    char error[300];
    (void)state;
    assert_true(top_columns_parse("pid,loads", &columns, error, sizeof error));
    assert_int_equal(columns, 1u << TOP_PID | 1u << TOP_LOADS);
    assert_false(top_columns_parse("pid,load", &columns, error, sizeof error));
    assert_non_null(strstr(error, "no column 'load'; columns are pid,main"));
    assert_non_null(strstr(error, ",trend"));
    assert_false(top_columns_parse("", &columns, error, sizeof error));
    assert_false(top_columns_parse(",", &columns, error, sizeof error));
    assert_int_equal(top_column_from_key("rssx", 3), TOP_RSS);
}

static void test_jdk(void **state)
{
    static const char *const VERSIONS[][2] = {
        {"17.0.15+6-Debian-1deb12u1", "17.0.15"},
        {"25.0.3+9-LTS", "25.0.3"},
        {"21.0.13.0.3+1-1-Debian", "21.0.13"},
        {"27-ea+3", "27"},
        {"1.8.0_452-b09", "8u452"},
        {"8.0_504", "8u504"},
        {"", ""},
    };
    char text[16];
    (void)state;
    for (size_t i = 0; i < sizeof VERSIONS / sizeof *VERSIONS; i++) {
        top_jdk(VERSIONS[i][0], text, sizeof text);
        assert_string_equal(text, VERSIONS[i][1]);
    }
}

static void test_container(void **state)
{
    static const char *const PATHS[][2] = {
        {"/system.slice/docker-"
         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
         "0123456789ab"},
        {"/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-"
         "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
         "ffff456789ab"},
        {"/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
         "0123456789ab"},
        {"/machine.slice/machine-web.scope", "machine-web"},
        {"/lxc/web", "web"},
        {"/", ""},
        {"", ""},
    };
    char text[96];
    (void)state;
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        top_container(PATHS[i][0], text, sizeof text);
        assert_string_equal(text, PATHS[i][1]);
    }
}

static void test_spark(void **state)
{
    struct sparkline spark = {0};
    char text[64], small[4];
    (void)state;
    top_spark(&spark, SPARK_RSS, 10, true, text, sizeof text);
    assert_string_equal(text, "");
    for (int i = 0; i < 4; i++) {
        const float value[SPARK_COUNT] = {
            [SPARK_RSS] = 100 + 100 * (float)i, [SPARK_INTERNAL] = i == 1 ? SPARK_MISSING : 5};
        sparkline_add(&spark, i * 2000, value);
    }
    top_spark(&spark, SPARK_RSS, 10, false, text, sizeof text);
    assert_string_equal(text, "_-+#");
    top_spark(&spark, SPARK_RSS, 10, true, text, sizeof text);
    assert_string_equal(text, "▁▃▆█");
    top_spark(&spark, SPARK_RSS, 2, false, text, sizeof text); /* the newest */
    assert_string_equal(text, "_#");
    top_spark(&spark, SPARK_INTERNAL, 10, false, text, sizeof text); /* flat, one is missing */
    assert_string_equal(text, "_ __");
    top_spark(&spark, SPARK_RSS, 10, true, small, sizeof small); /* never half a character */
    assert_string_equal(small, "▁");
}

static void test_cells(void **state)
{
    struct top_row row = {.member = (const struct member *)&row, .pid = 4711};
    char text[256];
    (void)state;
    snprintf(row.main, sizeof row.main, "com.sun.tools.javac.launcher.Main");
    rows_cell(&row, TOP_MAIN, TOP_RSS, 20, true, text, sizeof text);
    assert_string_equal(text, "javac.launcher.Main");
    row.recorded = true;
    rows_cell(&row, TOP_MAIN, TOP_RSS, 20, true, text, sizeof text);
    assert_string_equal(text, "[rec] launcher.Main");
    row.recorded = false;
    snprintf(row.main, sizeof row.main, "orders-service-1.2.3"); /* a version is no package */
    rows_cell(&row, TOP_MAIN, TOP_RSS, 8, true, text, sizeof text);
    assert_string_equal(text, "orders-service-1.2.3");
    row.value[TOP_HEAP] = __builtin_nan("");
    row.heap_committed_bytes = 64 << 20;
    rows_cell(&row, TOP_HEAP, TOP_RSS, 11, true, text, sizeof text);
    assert_string_equal(text, "-/64M");
    row.value[TOP_LOADS] = 0.05;
    rows_cell(&row, TOP_LOADS, TOP_RSS, 6, true, text, sizeof text);
    assert_string_equal(text, "0.05");
    row.value[TOP_LOADS] = 12345.6;
    rows_cell(&row, TOP_LOADS, TOP_RSS, 6, true, text, sizeof text);
    assert_string_equal(text, "12346");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_jdk),    cmocka_unit_test(test_container),
        cmocka_unit_test(test_spark),  cmocka_unit_test(test_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
