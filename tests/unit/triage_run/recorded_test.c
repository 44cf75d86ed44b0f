/* A recording gives one measurement: values of all of its moments, categories of one. */
#include "nmtwatch/record/recording.h"
#include "nmtwatch/triage/recorded.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[128];

static struct event tick(int64_t ms)
{
    return (struct event){.kind = EVENT_SAMPLE, .ms = ms};
}

static void categories_are_of_one_moment(void **context)
{
    (void)context;
    char error[256];
    struct recording_header header = {
        .warmup_s = 0,
        .target = {4711, 4711, 1, 1000, 17, "17.0.19", "Main", "summary"},
    };
    thresholds_default(&header.thresholds);
    struct recorder *recorder = recorder_create(path, true, &header, error, sizeof error);
    assert_non_null(recorder);

    struct event first = tick(0), second = tick(1000), third = tick(2000);
    sample_set(&first.sample, SAMPLE_RSS_BYTES, 77);
    sample_set_nmt(&first.sample, NMT_INTERNAL, (struct nmt_amount){2, 1});
    sample_set_nmt(&first.sample, NMT_CODE, (struct nmt_amount){20, 10});
    sample_set_nmt(&second.sample, NMT_INTERNAL, (struct nmt_amount){4, 3});
    second.sample.extra_count = 1;
    snprintf(second.sample.extra[0].name, sizeof second.sample.extra[0].name, "Brand New");
    second.sample.extra[0].amount = (struct nmt_amount){6, 5};
    sample_set(&third.sample, SAMPLE_THREADS, 9);
    assert_true(recorder_event(recorder, &first));
    assert_true(recorder_event(recorder, &second));
    assert_true(recorder_event(recorder, &third));
    recorder_destroy(recorder);

    struct recorded *recorded = recorded_read(path, error, sizeof error);
    assert_non_null(recorded);
    const struct sample *sample = &recorded->facts.sample;
    struct nmt_amount amount = {0, 0};
    int64_t value = 0;
    assert_true(sample_get(sample, SAMPLE_RSS_BYTES, &value));
    assert_int_equal(value, 77);
    assert_true(sample_get(sample, SAMPLE_THREADS, &value));
    assert_true(sample_get_nmt(sample, NMT_INTERNAL, &amount));
    assert_int_equal(amount.committed_bytes, 3);
    assert_false(sample_get_nmt(sample, NMT_CODE, &amount));
    assert_int_equal(sample->extra_count, 1);
    assert_string_equal(sample->extra[0].name, "Brand New");
    assert_int_equal(sample->extra[0].amount.committed_bytes, 5);
    recorded_free(recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(categories_are_of_one_moment)};
    snprintf(path, sizeof path, "/tmp/recorded_test.%d.gz", (int)getpid());
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failures;
}
