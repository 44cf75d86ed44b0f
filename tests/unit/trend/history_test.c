/* A week at 1 Hz in a few kilobytes, and every trailing window evenly covered. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/history.h"
#include "analyzers/trend/verdict.h"

#include <math.h>
#include <stdlib.h>

#define WEEK_S 604800

static void fill(struct history *history, int64_t seconds)
{
    for (int64_t s = 0; s < seconds; s++)
        assert_true(history_add(history, s * 1000, (double)s, s / 2));
}

static void test_a_week_is_small(void **state)
{
    (void)state;
    struct history history = {0};
    fill(&history, 3600);
    assert_in_range(history_bytes(&history), 1000, 7000);
    for (int64_t s = 3600; s < WEEK_S; s++)
        assert_true(history_add(&history, s * 1000, (double)s, VERDICT_MISSING));
    assert_int_equal(history.count, WEEK_S);
    assert_in_range(history_bytes(&history), 10000, 14000);
    history_free(&history);
}

static void test_every_window_is_covered_evenly(void **state)
{
    (void)state;
    struct history history = {0};
    fill(&history, WEEK_S);
    for (int64_t span_s = 60; span_s < WEEK_S; span_s = span_s * 3 / 2) {
        struct history_bin bins[20];
        int64_t from_s = WEEK_S - 1 - span_s;
        int n = history_view(&history, from_s * 1000, bins, 20);
        assert_int_equal(n, 20);
        double samples = 0;
        for (int i = 0; i < n; i++) {
            double width = (double)span_s / 20;
            /* On a line the mean of a bin is its time, and the low point stands at its beginning */
            assert_true(fabs(bins[i].mean - bins[i].x_ms / 1000) < 0.01 * width + 0.1);
            assert_true(bins[i].low <= bins[i].mean && bins[i].low > bins[i].mean - width);
            assert_true(bins[i].count > 0.3 * width && bins[i].count < 2 * width);
            samples += bins[i].count;
        }
        assert_true(fabs(samples - (double)span_s) < 0.05 * (double)span_s + 2);
        assert_true(llabs(history_count_since(&history, from_s * 1000) - (int64_t)samples) < 2);
    }
    history_free(&history);
}

static void test_low_points_and_regressor_survive_merging(void **state)
{
    (void)state;
    struct history history = {0};
    for (int s = 0; s < 10000; s++)
        assert_true(history_add(&history, s * 1000, s % 100 == 50 ? 0 : 100, 7000 + s));
    struct history_bin bins[40];
    int n = history_view(&history, 0, bins, 40);
    assert_int_equal(n, 40);
    for (int i = 0; i < n; i++) {
        assert_true(bins[i].low == 0);
        assert_true(bins[i].mean > 95 && bins[i].mean < 100);
    }
    assert_true(fabs(bins[n - 1].regressor - 9999) < 2);
    history_free(&history);
}

static void test_missing_regressor(void **state)
{
    (void)state;
    struct history history = {0};
    for (int s = 0; s < 50; s++)
        assert_true(history_add(&history, s * 1000, 1, s < 25 ? VERDICT_MISSING : 100));
    struct history_bin bins[10];
    int n = history_view(&history, 0, bins, 10);
    assert_int_equal(n, 10);
    assert_true(isnan(bins[0].regressor));
    assert_true(bins[9].regressor == 0); /* from the first one */
    history_free(&history);
}

static void test_gaps_and_equal_times(void **state)
{
    (void)state;
    struct history history = {0};
    struct history_bin bins[10];
    assert_int_equal(history_view(&history, 0, bins, 10), 0);
    for (int i = 0; i < 100; i++)
        assert_true(history_add(&history, 5000, i, 0));
    assert_int_equal(history_view(&history, 0, bins, 10), 1);
    for (int i = 0; i < 100; i++)
        assert_true(history_add(&history, 1000000 + i, i, 0));
    assert_int_equal(history_view(&history, 0, bins, 10), 2); /* the empty ones are left out */
    history_free(&history);
}

static void test_forgetting(void **state)
{
    (void)state;
    struct history history = {0};
    fill(&history, 20000);
    history_forget_before(&history, 15000 * 1000);
    assert_true(history.first_ms >= 15000 * 1000 && history.first_ms < 15300 * 1000);
    assert_in_range(history.count, 4700, 5100);
    for (int64_t s = 20000; s < 30000; s++)
        assert_true(history_add(&history, s * 1000, (double)s, 0));
    struct history_bin bins[30];
    int n = history_view(&history, 0, bins, 30);
    assert_int_equal(n, 30);
    for (int i = 1; i < n; i++)
        assert_true(bins[i].x_ms > bins[i - 1].x_ms && bins[i].mean > bins[i - 1].mean);
    history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_week_is_small),
        cmocka_unit_test(test_every_window_is_covered_evenly),
        cmocka_unit_test(test_low_points_and_regressor_survive_merging),
        cmocka_unit_test(test_missing_regressor),
        cmocka_unit_test(test_gaps_and_equal_times),
        cmocka_unit_test(test_forgetting),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
