/* Budgets: what keeps, breaks, and is not known; and the series they are for. */
#include "analyzers/soak/estimate.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void slopes_need_certainty(void **state)
{
    (void)state;
    struct budget budget = {.kind = BUDGET_SLOPE, .amount = 100};
    struct estimate measured = {true, 50, 20, 80};
    assert_int_equal(budget_judge_slope(&budget, measured, 60000).answer, SOAK_PASS);
    measured = (struct estimate){true, 150, 120, 180};
    assert_int_equal(budget_judge_slope(&budget, measured, 60000).answer, SOAK_FAIL);
    measured = (struct estimate){true, 90, -710, 890};
    struct budget_outcome outcome = budget_judge_slope(&budget, measured, 60000);
    assert_int_equal(outcome.answer, SOAK_UNDECIDED);
    /* 800 is 80 times the distance: 80^(2/3) times the span */
    assert_in_range(outcome.needs_ms, 1100000, 1120000);
    assert_int_equal(budget_judge_slope(&budget, (struct estimate){0}, 60000).answer,
                     SOAK_UNDECIDED);
    /* Exactly on it: nothing says how long. */
    measured = (struct estimate){true, 100, 90, 110};
    assert_int_equal(budget_judge_slope(&budget, measured, 60000).needs_ms, 0);
}

static void amounts_are_plain(void **state)
{
    (void)state;
    struct budget budget = {.kind = BUDGET_HEIGHT, .amount = 100};
    assert_int_equal(budget_judge_amount(&budget, true, 100).answer, SOAK_PASS);
    assert_int_equal(budget_judge_amount(&budget, true, 101).answer, SOAK_FAIL);
    assert_int_equal(budget_judge_amount(&budget, false, 0).answer, SOAK_UNDECIDED);
}

static void every_series_has_its_own_key(void **state)
{
    (void)state;
    char key[SOAK_KEY_MAX];
    for (int i = 0; i < SOAK_SERIES_COUNT; i++) {
        soak_series_key((enum soak_series)i, key);
        assert_true(strlen(key) > 0);
        assert_int_equal(soak_series_from_key(span_from_cstr(key)), i);
        assert_non_null(soak_series_title((enum soak_series)i, 17));
    }
    assert_int_equal(soak_series_from_key(span_from_cstr("Internal")), SOAK_SERIES_COUNT);
    assert_int_equal(soak_series_from_key(span_from_cstr("")), SOAK_SERIES_COUNT);
    assert_string_equal(soak_series_title(SOAK_INTERNAL, 26), "Internal + JNI");
}

static void values_of_a_sample(void **state)
{
    (void)state;
    struct sample sample;
    int64_t value = -7;
    sample_clear(&sample);
    for (int i = 0; i < SOAK_SERIES_COUNT; i++)
        assert_false(soak_series_value((enum soak_series)i, &sample, 17, &value));
    sample_set(&sample, SAMPLE_CLASSES_LOADED, 5000);
    assert_false(soak_series_value(SOAK_CLASSES, &sample, 17, &value)); /* half is not known */
    sample_set(&sample, SAMPLE_CLASSES_UNLOADED, 400);
    assert_true(soak_series_value(SOAK_CLASSES, &sample, 17, &value));
    assert_int_equal(value, 4600);
    sample_set(&sample, SAMPLE_NMT_COMMITTED_BYTES, 1000);
    assert_false(soak_series_value(SOAK_TOTAL, &sample, 17, &value));
    sample_set_nmt(&sample, NMT_JAVA_HEAP, (struct nmt_amount){900, 600});
    assert_true(soak_series_value(SOAK_TOTAL, &sample, 17, &value));
    assert_int_equal(value, 400);
    sample_set_nmt(&sample, NMT_JAVA_HEAP, (struct nmt_amount){9000, 6000}); /* more than all */
    assert_false(soak_series_value(SOAK_TOTAL, &sample, 17, &value));
    sample_set(&sample, SAMPLE_RSS_BYTES, INT64_MAX);
    assert_false(soak_series_value(SOAK_RSS, &sample, 17, &value));
    sample_set(&sample, SAMPLE_RSS_BYTES, -1);
    assert_false(soak_series_value(SOAK_RSS, &sample, 17, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_need_certainty),
        cmocka_unit_test(amounts_are_plain),
        cmocka_unit_test(every_series_has_its_own_key),
        cmocka_unit_test(values_of_a_sample),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
