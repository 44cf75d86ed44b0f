/* Rates of counters over windows, and the end of warm-up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/rate.h"

#include <math.h>
#include <string.h>

static struct rate rate;

static int reset(void **state)
{
    (void)state;
    memset(&rate, 0, sizeof rate);
    return 0;
}

static void test_constant_rate_at_any_interval(void **state)
{
    (void)state;
    static const int64_t intervals_ms[] = {10, 100, 1000, 5000};
    for (size_t i = 0; i < sizeof intervals_ms / sizeof *intervals_ms; i++) {
        memset(&rate, 0, sizeof rate);
        for (int64_t ms = 0; ms <= 300000; ms += intervals_ms[i])
            rate_add(&rate, ms, ms * 7 / 1000);
        double per_s;
        assert_true(rate_over(&rate, 60000, &per_s));
        assert_true(fabs(per_s - 7) < 0.1);
    }
}

static void test_needs_half_the_window(void **state)
{
    (void)state;
    double per_s;
    rate_add(&rate, 0, 0);
    assert_false(rate_over(&rate, 10000, &per_s));
    rate_add(&rate, 4000, 40);
    assert_false(rate_over(&rate, 10000, &per_s));
    rate_add(&rate, 5000, 50);
    assert_true(rate_over(&rate, 10000, &per_s));
    assert_true(fabs(per_s - 10) < 1e-9);
}

static void test_the_window_before(void **state)
{
    (void)state;
    for (int64_t s = 0; s <= 60; s++)
        rate_add(&rate, s * 1000, s <= 30 ? s * 10 : 300 + (s - 30));
    double before, now;
    assert_true(rate_before(&rate, 30000, 30000, &before));
    assert_true(rate_over(&rate, 30000, &now));
    assert_true(fabs(before - 10) < 0.1 && fabs(now - 1) < 0.1);
}

static void test_restart_of_the_counter(void **state)
{
    (void)state;
    double per_s;
    for (int64_t s = 0; s < 20; s++)
        rate_add(&rate, s * 1000, 100000 + s);
    rate_add(&rate, 20000, 5);
    assert_false(rate_over(&rate, 10000, &per_s));
}

static void test_warmup_ends_when_loads_fall(void **state)
{
    (void)state;
    struct warmup warmup;
    warmup_init(&warmup, -1, 120, 2, 500);
    int64_t ended_s = -1;
    for (int64_t s = 0; s < 200; s++) {
        int64_t loaded = s < 20 ? s * 300 : 6000 + s / 2;
        if (warmup_add(&warmup, s * 1000, loaded)) {
            assert_true(ended_s < 0);
            ended_s = s;
        }
    }
    assert_in_range(ended_s, 29, 32);
    assert_non_null(strstr(warmup.reason, "stayed below 2/s"));
}

static void test_warmup_has_an_end_when_loads_do_not_fall(void **state)
{
    (void)state;
    struct warmup warmup;
    warmup_init(&warmup, -1, 120, 2, 500);
    int64_t ended_s = -1;
    for (int64_t s = 0; s < 200 && ended_s < 0; s++) {
        if (warmup_add(&warmup, s * 1000, s * 20))
            ended_s = s;
    }
    assert_int_equal(ended_s, 120);
    assert_non_null(strstr(warmup.reason, "did not fall"));
}

static void test_warmup_without_class_counters(void **state)
{
    (void)state;
    struct warmup warmup;
    warmup_init(&warmup, -1, 120, 2, 3600000);
    int64_t ended_s = -1;
    for (int64_t s = 0; s < 200 && ended_s < 0; s++) {
        if (warmup_add(&warmup, s * 1000, -1))
            ended_s = s;
    }
    assert_int_equal(ended_s, 10);
    assert_non_null(strstr(warmup.reason, "unknown"));
}

static void test_warmup_as_asked(void **state)
{
    (void)state;
    struct warmup warmup;
    warmup_init(&warmup, 5, 120, 2, 500);
    assert_false(warmup_add(&warmup, 1000, 0));
    assert_false(warmup_add(&warmup, 5999, 0));
    assert_true(warmup_add(&warmup, 6000, 99999));
    assert_false(warmup_add(&warmup, 7000, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_constant_rate_at_any_interval, reset),
        cmocka_unit_test_setup(test_needs_half_the_window, reset),
        cmocka_unit_test_setup(test_the_window_before, reset),
        cmocka_unit_test_setup(test_restart_of_the_counter, reset),
        cmocka_unit_test(test_warmup_ends_when_loads_fall),
        cmocka_unit_test(test_warmup_has_an_end_when_loads_do_not_fall),
        cmocka_unit_test(test_warmup_without_class_counters),
        cmocka_unit_test(test_warmup_as_asked),
    };
    return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
