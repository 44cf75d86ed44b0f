#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reports/metrics/exposition.h"

#include <math.h>
#include <string.h>

static void write_all_kinds(struct exposition *out)
{
    exposition_family(out, "a_bytes", EXPOSITION_GAUGE, "bytes", "A gauge.");
    exposition_label(out, "target", "x");
    exposition_int(out, 5);
    exposition_family(out, "b", EXPOSITION_COUNTER, "", "A counter.");
    exposition_label(out, "target", "x");
    exposition_created(out, 12.5);
    exposition_int(out, 7);
    exposition_family(out, "c_seconds", EXPOSITION_SUMMARY, "seconds", "A summary.");
    exposition_created(out, 12.5);
    exposition_summary(out, 1.5, 3);
    exposition_family(out, "d", EXPOSITION_INFO, "", "An info.");
    exposition_label(out, "version", "1");
    exposition_info(out);
    exposition_family(out, "empty", EXPOSITION_GAUGE, "", "Never seen.");
}

static void is(struct exposition *out, const char *wanted)
{
    size_t length;
    const char *text = exposition_end(out, &length);
    assert_non_null(text);
    assert_int_equal(length, strlen(text));
    assert_string_equal(text, wanted);
    exposition_free(out);
}

static void test_text_format(void **state)
{
    (void)state;
    struct exposition out = {.format = EXPOSITION_TEXT};
    write_all_kinds(&out);
    assert_int_equal(out.samples, 4);
    is(&out, "# HELP a_bytes A gauge.\n# TYPE a_bytes gauge\na_bytes{target=\"x\"} 5\n"
             "# HELP b_total A counter.\n# TYPE b_total counter\nb_total{target=\"x\"} 7\n"
             "# HELP c_seconds A summary.\n# TYPE c_seconds summary\n"
             "c_seconds_sum 1.5\nc_seconds_count 3\n"
             "# HELP d_info An info.\n# TYPE d_info gauge\nd_info{version=\"1\"} 1\n");
}

static void test_openmetrics(void **state)
{
    (void)state;
    struct exposition out = {.format = EXPOSITION_OPENMETRICS};
    write_all_kinds(&out);
    is(&out, "# HELP a_bytes A gauge.\n# TYPE a_bytes gauge\n# UNIT a_bytes bytes\n"
             "a_bytes{target=\"x\"} 5\n"
             "# HELP b A counter.\n# TYPE b counter\nb_total{target=\"x\"} 7\n"
             "b_created{target=\"x\"} 12.500\n"
             "# HELP c_seconds A summary.\n# TYPE c_seconds summary\n# UNIT c_seconds seconds\n"
             "c_seconds_sum 1.5\nc_seconds_count 3\nc_seconds_created 12.500\n"
             "# HELP d An info.\n# TYPE d info\nd_info{version=\"1\"} 1\n# EOF\n");
}

static void test_a_hostile_name_stays_a_value(void **state)
{
    (void)state;
    struct exposition out = {.format = EXPOSITION_TEXT};
    exposition_family(&out, "a", EXPOSITION_GAUGE, "", "Back\\slash\nand \"quotes\".");
    exposition_label(&out, "target", "\"} 1\nevil 2\x1b[31m\\\xff");
    exposition_int(&out, 1);
    is(&out, "# HELP a Back\\\\slash\\nand \"quotes\".\n# TYPE a gauge\n"
             "a{target=\"\\\"} 1\\\\x0aevil 2\\\\x1b[31m\\\\\\\\xff\"} 1\n");
}

static void test_labels_that_find_no_room_are_left_out_whole(void **state)
{
    (void)state;
    char long_name[400];
    struct exposition out = {.format = EXPOSITION_TEXT};
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    exposition_family(&out, "a", EXPOSITION_GAUGE, "", "x");
    for (int i = 0; i < 5; i++)
        exposition_label(&out, "k", long_name);
    exposition_label(&out, "last", "fits");
    exposition_int(&out, 1);
    size_t length;
    const char *text = exposition_end(&out, &length);
    assert_non_null(strstr(text, ",last=\"fits\"} 1\n"));
    assert_null(strstr(text, "k=\"nnn}"));
    exposition_free(&out);
}

static void test_numbers(void **state)
{
    (void)state;
    struct exposition out = {.format = EXPOSITION_TEXT};
    exposition_family(&out, "a", EXPOSITION_GAUGE, "", "x");
    exposition_int(&out, INT64_MIN);
    exposition_real(&out, NAN);
    exposition_real(&out, INFINITY);
    exposition_real(&out, -INFINITY);
    exposition_real(&out, 1795240822.188);
    is(&out, "# HELP a x\n# TYPE a gauge\na -9223372036854775808\na NaN\na +Inf\na -Inf\n"
             "a 1795240822.188\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_format),
        cmocka_unit_test(test_openmetrics),
        cmocka_unit_test(test_a_hostile_name_stays_a_value),
        cmocka_unit_test(test_labels_that_find_no_room_are_left_out_whole),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests_name("exposition", tests, NULL, NULL);
}
