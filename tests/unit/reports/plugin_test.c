#include "reports/watch/watch_view.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static struct texts texts; /* of all findings here */

static char *text;

static const char *print(const struct check_result *result, const struct sample *sample, int jdk)
{
    struct thresholds thresholds;
    size_t size;

    free(text);
    text = NULL;
    thresholds_default(&thresholds);
    FILE *out = open_memstream(&text, &size);
    plugin_print(out, result, sample, jdk, &thresholds);
    fclose(out);
    return text;
}

static struct sample full_sample(void)
{
    struct sample sample = {0};

    sample_set(&sample, SAMPLE_CLASSES_LOADED, 10000);
    sample_set(&sample, SAMPLE_CLASSES_UNLOADED, 130);
    sample_set(&sample, SAMPLE_METASPACE_COMMITTED_BYTES, 5000);
    sample_set(&sample, SAMPLE_METASPACE_MAX_BYTES, 100000);
    sample_set_nmt(&sample, NMT_INTERNAL, (struct nmt_amount){200, 123});
    sample_set_nmt(&sample, NMT_JNI, (struct nmt_amount){200, 7});
    return sample;
}

static void test_verdict_and_figures(void **state)
{
    struct check_result result = {.status = CHECK_OK, .reason = "all is quiet"};
    struct sample sample = full_sample();
    (void)state;

    assert_string_equal(
        print(&result, &sample, 17),
        "NMTWATCH OK - all is quiet | 'internal'=123B;524288000;2147483648;0; "
        "'classes'=9870;;;0; 'classes_loaded'=10000c;;;0; 'classes_unloaded'=130c;;;0; "
        "'metaspace'=5000B;;90000;0;\n");
    assert_non_null(strstr(print(&result, &sample, 26), "'internal'=130B;")); /* Internal + JNI */
    sample_set(&sample, SAMPLE_AGENT_RESIDENT_BYTES, 40);
    sample_set(&sample, SAMPLE_AGENT_JMETHOD_ID_BYTES, 30);
    assert_non_null(
        strstr(print(&result, &sample, 17), " 'agent'=40B;;;0; 'agent_jmethod_ids'=30B;;;0;\n"));
}

static void test_nothing_known_is_no_figures(void **state)
{
    struct check_result result = {.status = CHECK_UNKNOWN, .reason = "pid 1: no such process"};
    struct sample empty = {0};
    (void)state;

    assert_string_equal(print(&result, NULL, 17), "NMTWATCH UNKNOWN - pid 1: no such process\n");
    assert_string_equal(print(&result, &empty, 17), "NMTWATCH UNKNOWN - pid 1: no such process\n");
}

static void test_text_cannot_pose_as_figures(void **state)
{
    struct check_result result = {.status = CHECK_CRITICAL, .finding_count = 2};
    struct sample sample = full_sample();
    (void)state;

    snprintf(result.reason, sizeof result.reason, "a|b\nOK - 'x'=1");
    result.findings[0] = finding_begin(&texts, FINDING_CLASS_EXPLOSION);
    finding_title(&result.findings[0], "Evil|Class\n\033[0m");
    result.findings[1] = finding_begin(&texts, FINDING_LOADER_GROWTH);
    const char *out = print(&result, &sample, 17);
    assert_non_null(strstr(out, "NMTWATCH CRITICAL - a/b\\x0aOK - 'x'=1 | 'internal'"));
    assert_non_null(strstr(out, "\nCRITICAL class-explosion: Evil/Class\\x0a\\x1b[0m - "));
    assert_non_null(strstr(out, "\nWARNING loader-growth: "));
    assert_ptr_equal(strchr(out, '|'), strrchr(out, '|'));
    int lines = 0;
    for (const char *at = out; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 3);
}

static int free_text(void **state)
{
    (void)state;
    free(text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdict_and_figures),
        cmocka_unit_test(test_nothing_known_is_no_figures),
        cmocka_unit_test(test_text_cannot_pose_as_figures),
    };
    return cmocka_run_group_tests_name("reports/plugin", tests, NULL, free_text);
}
