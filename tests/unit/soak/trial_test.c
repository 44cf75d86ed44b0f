/* A JVM on trial: what fails, what passes, what is not known, and hostile events. */
#include "analyzers/soak/trial.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct texts texts; /* of all findings here */

#define MB 1048576

struct course {
    int64_t internal_bytes_per_h;
    int64_t other_bytes_per_h;
    int seconds;
    int warm_s; /* < 0: never */
    bool nmt;
};

static const struct target_identity identity = {.pid = 4711, .jdk_major = 17};

static struct trial *make(const struct course *course, const struct budgets *budgets)
{
    struct trial *trial = trial_create(&identity, budgets);
    for (int s = 0; s <= course->seconds; s += 2) {
        struct event event = {.kind = EVENT_SAMPLE, .ms = s * 1000};
        bool warm = course->warm_s >= 0 && s >= course->warm_s;
        struct judge_view view = {.warm = warm, .baseline_ms = warm ? course->warm_s * 1000 : -1};
        struct sample *sample = &event.sample;
        sample_clear(sample);
        sample_set(sample, SAMPLE_CLASSES_LOADED, 5000);
        sample_set(sample, SAMPLE_CLASSES_UNLOADED, 0);
        sample_set(sample, SAMPLE_RSS_BYTES, 100 * MB);
        if (course->nmt) {
            int64_t jitter = s % 6 * 1024;
            int64_t internal = 20 * MB + jitter + course->internal_bytes_per_h * s / 3600;
            int64_t other = 4 * MB + course->other_bytes_per_h * s / 3600;
            sample_set(sample, SAMPLE_NMT_COMMITTED_BYTES, 200 * MB + internal + other);
            sample_set_nmt(sample, NMT_JAVA_HEAP, (struct nmt_amount){64 * MB, 64 * MB});
            sample_set_nmt(sample, NMT_CLASS, (struct nmt_amount){4 * MB, 4 * MB});
            sample_set_nmt(sample, NMT_METASPACE, (struct nmt_amount){30 * MB, 30 * MB});
            sample_set_nmt(sample, NMT_INTERNAL, (struct nmt_amount){internal, internal});
            sample_set_nmt(sample, NMT_OTHER, (struct nmt_amount){other, other});
        }
        trial_event(trial, &event, &view);
    }
    return trial;
}

static enum soak_answer judge(const struct course *course, const struct budgets *budgets)
{
    struct soak_result *result = malloc(sizeof *result);
    struct trial *trial = make(course, budgets);
    trial_result(trial, NULL, result);
    enum soak_answer answer = result->answer;
    trial_destroy(trial);
    free(result);
    return answer;
}

static void answers(void **state)
{
    (void)state;
    assert_int_equal(judge(&(struct course){0, 0, 600, 10, true}, NULL), SOAK_PASS);
    assert_int_equal(judge(&(struct course){60 * MB, 0, 600, 10, true}, NULL), SOAK_FAIL);
    assert_int_equal(judge(&(struct course){0, 60 * MB, 600, 10, true}, NULL), SOAK_FAIL);
    assert_int_equal(judge(&(struct course){0, 0, 20, 10, true}, NULL), SOAK_UNDECIDED);
    assert_int_equal(judge(&(struct course){0, 0, 600, -1, true}, NULL), SOAK_UNDECIDED);
    assert_int_equal(judge(&(struct course){0, 0, 600, 10, false}, NULL), SOAK_UNDECIDED);
    assert_int_equal(judge(&(struct course){0, 0, -1, 10, true}, NULL), SOAK_UNDECIDED);
    /* Half a minute of 3 MB that it is not known yet. */
    assert_int_equal(judge(&(struct course){0, 360 * MB, 40, 10, true}, NULL), SOAK_UNDECIDED);
}

static void budgets_replace_the_verdict(void **state)
{
    (void)state;
    struct budgets budgets = {
        1, {{.series = SOAK_INTERNAL, .kind = BUDGET_SLOPE, .amount = 70.0 * MB}}};
    const struct course leak = {60 * MB, 0, 600, 10, true};
    assert_int_equal(judge(&leak, &budgets), SOAK_PASS);
    budgets.budget[0].amount = 50.0 * MB;
    assert_int_equal(judge(&leak, &budgets), SOAK_FAIL);
    /* A height does not allow growth. */
    budgets.budget[0] =
        (struct budget){.series = SOAK_INTERNAL, .kind = BUDGET_HEIGHT, .amount = 1e12};
    assert_int_equal(judge(&leak, &budgets), SOAK_FAIL);
}

static struct alert make_alert(enum finding_kind kind, enum alert_state alert_state,
                               const char *family)
{
    struct alert alert = {.state = alert_state, .ms = 5000};
    alert.finding = finding_begin(&texts, kind);
    finding_family(&alert.finding, family);
    return alert;
}

static void alerts_fail(void **state)
{
    (void)state;
    struct soak_result *result = malloc(sizeof *result);
    struct trial *trial = make(&(struct course){0, 0, 600, 10, true}, NULL);
    struct trial *reference = make(&(struct course){0, 0, 600, 10, true}, NULL);
    struct alert churn = make_alert(FINDING_CLASS_CHURN, ALERT_RAISED, "cglib");
    struct alert rate = make_alert(FINDING_CLASS_LOAD_RATE, ALERT_RAISED, "");
    struct alert boom = make_alert(FINDING_CLASS_EXPLOSION, ALERT_RAISED, "cglib");
    trial_alert(trial, &churn);
    trial_result(trial, NULL, result);
    assert_int_equal(result->answer, SOAK_PASS); /* work, not growth */
    trial_alert(trial, &rate);
    trial_result(trial, NULL, result);
    assert_int_equal(result->answer, SOAK_FAIL);
    rate.state = ALERT_CLEARED;
    trial_alert(trial, &rate);
    trial_result(trial, NULL, result);
    assert_int_equal(result->answer, SOAK_PASS); /* it was over */
    assert_false(trial_has_failed(trial));
    trial_alert(trial, &boom);
    assert_true(trial_has_failed(trial));
    boom.state = ALERT_CLEARED;
    trial_alert(trial, &boom);
    trial_result(trial, NULL, result);
    assert_int_equal(result->answer, SOAK_FAIL); /* that it happened is enough */
    trial_result(trial, reference, result);
    assert_int_equal(result->answer, SOAK_FAIL);
    boom.state = ALERT_RAISED;
    trial_alert(reference, &boom);
    trial_result(trial, reference, result);
    assert_int_equal(result->answer, SOAK_PASS); /* no news */
    for (int i = 0; i < 3 * SOAK_ALERTS_MAX; i++)
        trial_alert(trial, &boom);
    trial_result(trial, NULL, result);
    assert_int_equal(result->alert_count, SOAK_ALERTS_MAX);
    trial_destroy(trial);
    trial_destroy(reference);
    free(result);
}

static void counters(void **state)
{
    (void)state;
    struct soak_result *result = malloc(sizeof *result);
    struct trial *trial = make(&(struct course){36 * MB, 0, 600, 0, true}, NULL);
    for (int s = 0; s <= 600; s += 5)
        trial_counter(trial, s * 1000, 1000 + s / 5 * 2); /* 1440 an hour: 25.6 KB each */
    trial_result(trial, NULL, result);
    assert_true(result->counted);
    const struct soak_line *internal = &result->lines[0];
    assert_string_equal(internal->key, "internal");
    assert_true(internal->per_iteration.known);
    assert_float_equal(internal->per_iteration.value, 26214, 500);
    trial_counter(trial, 601000, 5); /* it began anew */
    trial_result(trial, NULL, result);
    assert_false(result->lines[0].per_iteration.known);
    trial_destroy(trial);
    free(result);
}

static void hostile_events(void **state)
{
    (void)state;
    struct soak_result *result = malloc(sizeof *result);
    struct budgets budgets = {1, {{.series = SOAK_CLASSES, .kind = BUDGET_SLOPE, .amount = 1}}};
    struct trial *trial = trial_create(&identity, &budgets);
    static const int64_t times[] = {0, INT64_MAX, INT64_MIN, -1, 5, INT64_MAX, 7};
    static const int64_t values[] = {INT64_MAX, INT64_MIN, -1, 0, 1};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        for (size_t j = 0; j < sizeof values / sizeof values[0]; j++) {
            struct event event = {.kind = EVENT_SAMPLE, .ms = times[i]};
            struct judge_view view = {.warm = true, .baseline_ms = 0};
            for (int field = 0; field < SAMPLE_FIELD_COUNT; field++)
                sample_set(&event.sample, (enum sample_field)field, values[j]);
            for (int c = 0; c < NMT_CATEGORY_COUNT; c++)
                sample_set_nmt(&event.sample, (enum nmt_category)c,
                               (struct nmt_amount){values[j], values[j]});
            trial_event(trial, &event, &view);
        }
    }
    trial_result(trial, trial, result);
    assert_int_not_equal(result->answer, SOAK_PASS);
    trial_destroy(trial);
    trial_destroy(NULL);
    free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),        cmocka_unit_test(budgets_replace_the_verdict),
        cmocka_unit_test(alerts_fail),    cmocka_unit_test(counters),
        cmocka_unit_test(hostile_events),
    };
    return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
