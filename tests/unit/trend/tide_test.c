/* A leak below a swing is found on its falling branch; a swing alone is not a leak. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/tide.h"
#include "tests/unit/trend/injected.h"

enum { POINTS = 40 };

/* Four days and a half, ends on the falling branch; the guess of the period is 10 % off. */
static bool measure(double leak_per_h, double noise, struct tide *tide)
{
    double x[POINTS], y[POINTS];
    uint64_t seed = 41;
    for (int i = 0; i < POINTS; i++) {
        x[i] = 108.0 * i / (POINTS - 1);
        y[i] = 20 * cos(6.283185307 * (x[i] - 96) / 24) + leak_per_h * x[i] +
               noise * injected_gauss(&seed);
    }
    return tide_measure(x, y, POINTS, 26.4, tide);
}

static void test_leak_below_a_day(void **state)
{
    (void)state;
    struct tide tide;
    assert_true(measure(2, 0.5, &tide));
    assert_true(fabs(tide.period - 24) < 1.5);
    assert_true(tide.share_higher == 1);
    assert_true(tide.slope_low < 2 && 2 < tide.slope_high);
    assert_true(tide.slope_high - tide.slope_low < 0.8);
    assert_true(tide.low_rise > 30 && tide.last_rise > 30);
}

static void test_day_alone(void **state)
{
    (void)state;
    struct tide tide;
    assert_true(measure(0, 0.5, &tide));
    assert_true(tide.share_higher < 0.8);
    assert_true(tide.slope_low < 0 && tide.slope_high > 0);
}

static void test_refusals(void **state)
{
    (void)state;
    double x[POINTS], y[POINTS] = {0};
    struct tide tide;
    for (int i = 0; i < POINTS; i++)
        x[i] = i;
    assert_false(tide_measure(x, y, POINTS, 30, &tide)); /* seen once */
    assert_false(tide_measure(x, y, POINTS, 2, &tide));  /* too few points a period */
    assert_false(tide_measure(x, y, POINTS, 0, &tide));
    assert_false(tide_measure(x, y, 5, 2, &tide));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leak_below_a_day),
        cmocka_unit_test(test_day_alone),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("tide", tests, NULL, NULL);
}
