/* One measurement: the right status for what can be known, never OK for what cannot. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/judge/level.h"

#include <stdio.h>

#define MB INT64_C(1048576)

static struct target_identity identity;
static struct thresholds thresholds;
static struct sample now, before;
static struct check_result result;
static struct check_input input;

static void nmt(struct sample *sample, int64_t internal, int64_t classes)
{
    sample_set_nmt(sample, NMT_INTERNAL, (struct nmt_amount){internal, internal});
    sample_set_nmt(sample, NMT_CLASS, (struct nmt_amount){classes, classes});
}

static int reset(void **state)
{
    (void)state;
    identity = (struct target_identity){.pid = 1, .jdk_major = 17};
    thresholds_default(&thresholds);
    sample_clear(&now);
    sample_clear(&before);
    nmt(&now, MB, 10 * MB);
    nmt(&before, MB, 10 * MB);
    input = (struct check_input){.identity = &identity, .thresholds = &thresholds, .sample = &now};
    return 0;
}

static void test_healthy(void **state)
{
    (void)state;
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_OK);
    assert_non_null(strstr(result.reason, "Internal 1 MB"));
}

static void test_partial_is_unknown(void **state)
{
    (void)state;
    input.missing = "pid 1 does not answer";
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_UNKNOWN);
    assert_string_equal(result.reason, "pid 1 does not answer");
    input.missing = NULL;
    sample_clear(&now);
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_UNKNOWN);
}

static void test_what_is_known_to_be_bad_beats_unknown(void **state)
{
    (void)state;
    input.missing = "partial";
    nmt(&now, 3000 * MB, MB);
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_CRITICAL);
}

static void test_steps_with_and_without_baseline(void **state)
{
    (void)state;
    static const struct {
        int64_t internal_mb, baseline_mb; /* -1: none */
        enum check_status status;
        const char *id;
    } rows[] = {
        {500, -1, CHECK_OK, NULL},
        {501, -1, CHECK_WARNING, "internal-growth-investigate"},
        {2049, -1, CHECK_CRITICAL, "internal-growth-explosion"},
        {10241, -1, CHECK_CRITICAL, "internal-growth-unacceptable"},
        {1000, 600, CHECK_OK, NULL},
        {1200, 600, CHECK_WARNING, "internal-growth-investigate"},
        {3000, 600, CHECK_CRITICAL, "internal-growth-explosion"},
        {600, 1000, CHECK_OK, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reset(NULL);
        nmt(&now, rows[i].internal_mb * MB, 10 * MB);
        nmt(&before, rows[i].baseline_mb * MB, 10 * MB);
        input.baseline = rows[i].baseline_mb >= 0 ? &before : NULL;
        check_jvm(&input, &result);
        assert_int_equal(result.status, rows[i].status);
        if (rows[i].id != NULL)
            assert_string_equal(finding_row(result.findings[0].kind)->id, rows[i].id);
    }
}

static void test_jni_counts_from_26_on(void **state)
{
    (void)state;
    nmt(&now, 101 * MB, 10 * MB);
    sample_set_nmt(&now, NMT_JNI, (struct nmt_amount){500 * MB, 500 * MB});
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_OK);
    identity.jdk_major = 26;
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_WARNING);
    assert_non_null(strstr(result.reason, "Internal + JNI"));
}

static void test_loaders_of_a_generator(void **state)
{
    (void)state;
    static const struct loader_row rows[] = {
        {.type = "groovy.lang.GroovyClassLoader$InnerLoader", .loaders = 6000, .classes = 6000},
        {.type = "jdk.internal.loader.ClassLoaders$AppClassLoader", .loaders = 1, .classes = 4000},
    };
    struct loaders_event loaders = {
        .loaders = 6001, .classes = 10000, .row_count = 2, .rows = rows};
    input.loaders = &loaders;
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_WARNING);
    assert_int_equal(result.finding_count, 1);
    assert_string_equal(result.findings[0].family, "groovy-shell");
    loaders.classes = 100000; /* a small share of a large application */
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_OK);
}

static void test_metaspace_limit(void **state)
{
    (void)state;
    sample_set(&now, SAMPLE_METASPACE_COMMITTED_BYTES, 95 * MB);
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_OK); /* unlimited */
    sample_set(&now, SAMPLE_METASPACE_MAX_BYTES, 100 * MB);
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_CRITICAL);
    assert_string_equal(finding_row(result.findings[0].kind)->id, "metaspace-near-limit");
}

static void test_lifetime_rates(void **state)
{
    (void)state;
    sample_set(&now, SAMPLE_UPTIME_MS, 3600000);
    sample_set(&now, SAMPLE_CLASSES_LOADED, 360000);
    sample_set(&now, SAMPLE_CLASSES_UNLOADED, 0);
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_WARNING);
    assert_string_equal(finding_row(result.findings[0].kind)->id, "class-load-rate");
    sample_set(&now, SAMPLE_CLASSES_UNLOADED, 350000);
    check_jvm(&input, &result);
    assert_string_equal(finding_row(result.findings[0].kind)->id, "class-churn");
    sample_set(&now, SAMPLE_UPTIME_MS, 60000); /* start-up says nothing */
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_OK);
}

static void test_worst_comes_first(void **state)
{
    (void)state;
    nmt(&now, 600 * MB, 10 * MB);
    sample_set(&now, SAMPLE_METASPACE_COMMITTED_BYTES, 95 * MB);
    sample_set(&now, SAMPLE_METASPACE_MAX_BYTES, 100 * MB);
    check_jvm(&input, &result);
    assert_int_equal(result.finding_count, 2);
    assert_int_equal(result.findings[0].severity, SEVERITY_CRITICAL);
    assert_int_equal(result.findings[1].severity, SEVERITY_WARNING);
    assert_int_equal(result.status, CHECK_CRITICAL);
}

static void test_an_agent_that_gives_way(void **state)
{
    (void)state;
    sample_set(&now, SAMPLE_AGENT_RESIDENT_BYTES, 3 * MB);
    sample_set(&now, SAMPLE_AGENT_JMETHOD_ID_BYTES, 600 * MB);
    sample_set(&now, SAMPLE_AGENT_BREAKER, 0);
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_OK);
    sample_set(&now, SAMPLE_AGENT_BREAKER, 1);
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_WARNING);
    assert_string_equal(finding_row(result.findings[0].kind)->id, "agent-shedding");
    assert_non_null(strstr(result.reason, "warns about its cost: it holds 3 MB, the JVM 600 MB"));
    assert_int_equal(finding_evidence(&result.findings[0], "agent_jmethod_id_bytes")->number,
                     600 * MB);
    sample_set(&now, SAMPLE_AGENT_BREAKER, 99); /* a step we do not know is beyond those we do */
    check_jvm(&input, &result);
    assert_string_equal(finding_evidence(&result.findings[0], "step")->text, "stopped");
    sample_set(&now, SAMPLE_AGENT_BREAKER, -1);
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_OK);
}

/* 3 GB beside a healthy rest. */
static void test_every_category_that_can_leak_has_levels(void **state)
{
    (void)state;
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        bool bounded = i == NMT_JAVA_HEAP || i == NMT_SHARED_CLASS_SPACE;
        reset(NULL);
        sample_set_nmt(&now, (enum nmt_category)i, (struct nmt_amount){3072 * MB, 3072 * MB});
        check_jvm(&input, &result);
        assert_int_equal(result.status, bounded ? CHECK_OK : CHECK_CRITICAL);
        if (!bounded)
            assert_non_null(strstr(result.reason, nmt_category_name((enum nmt_category)i)));
    }
    reset(NULL);
    now.extra_count = 1;
    snprintf(now.extra[0].name, sizeof now.extra[0].name, "Of Tomorrow");
    now.extra[0].amount = (struct nmt_amount){3072 * MB, 3072 * MB};
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_CRITICAL);
    assert_string_equal(finding_row(result.findings[0].kind)->id, "nmt-category-growth");
}

/* A collector's bitmaps are as large as the heap wants them, JDK 8 counts whole stacks. */
static void test_what_a_large_jvm_starts_with_is_no_level(void **state)
{
    (void)state;
    sample_set_nmt(&now, NMT_JAVA_HEAP, (struct nmt_amount){65536 * MB, 65536 * MB});
    sample_set_nmt(&now, NMT_GC, (struct nmt_amount){4096 * MB, 4096 * MB});
    sample_set_nmt(&now, NMT_CODE, (struct nmt_amount){500 * MB, 500 * MB});
    sample_set_nmt(&now, NMT_METASPACE, (struct nmt_amount){500 * MB, 500 * MB});
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_OK);
    sample_set_nmt(&now, NMT_THREAD, (struct nmt_amount){1400 * MB, 1400 * MB});
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_WARNING);
    identity.jdk_major = 8;
    check_jvm(&input, &result);
    assert_int_equal(result.status, CHECK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_healthy, reset),
        cmocka_unit_test_setup(test_partial_is_unknown, reset),
        cmocka_unit_test_setup(test_what_is_known_to_be_bad_beats_unknown, reset),
        cmocka_unit_test_setup(test_steps_with_and_without_baseline, reset),
        cmocka_unit_test_setup(test_every_category_that_can_leak_has_levels, reset),
        cmocka_unit_test_setup(test_what_a_large_jvm_starts_with_is_no_level, reset),
        cmocka_unit_test_setup(test_jni_counts_from_26_on, reset),
        cmocka_unit_test_setup(test_loaders_of_a_generator, reset),
        cmocka_unit_test_setup(test_metaspace_limit, reset),
        cmocka_unit_test_setup(test_lifetime_rates, reset),
        cmocka_unit_test_setup(test_an_agent_that_gives_way, reset),
        cmocka_unit_test_setup(test_worst_comes_first, reset),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
