/* A leak below a swing is found on its falling branch; a swing alone is not a leak. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/window.h"
#include "tests/unit/trend/injected.h"

enum { POINTS = 40 };

/* Four days and a half, ends on the falling branch; the guess of the period is 10 % off. */
static bool measure(double leak_per_h, double noise, struct seasonality *seasonality)
{
    double x[POINTS], y[POINTS];
    uint64_t seed = 41;
    for (int i = 0; i < POINTS; i++) {
        x[i] = 108.0 * i / (POINTS - 1);
        y[i] = 20 * cos(6.283185307 * (x[i] - 96) / 24) + leak_per_h * x[i] +
               noise * injected_gauss(&seed);
    }
    return seasonality_measure(x, y, POINTS, 26.4, seasonality);
}

static void test_leak_below_a_day(void **state)
{
    (void)state;
    struct seasonality seasonality;
    assert_true(measure(2, 0.5, &seasonality));
    assert_true(fabs(seasonality.period - 24) < 1.5);
    assert_true(seasonality.share_higher == 1);
    assert_true(seasonality.slope_low < 2 && 2 < seasonality.slope_high);
    assert_true(seasonality.slope_high - seasonality.slope_low < 0.8);
    assert_true(seasonality.low_rise > 30 && seasonality.last_rise > 30);
}

static void test_day_alone(void **state)
{
    (void)state;
    struct seasonality seasonality;
    assert_true(measure(0, 0.5, &seasonality));
    assert_true(seasonality.share_higher < 0.8);
    assert_true(seasonality.slope_low < 0 && seasonality.slope_high > 0);
}

static void test_refusals(void **state)
{
    (void)state;
    double x[POINTS], y[POINTS] = {0};
    struct seasonality seasonality;
    for (int i = 0; i < POINTS; i++)
        x[i] = i;
    assert_false(seasonality_measure(x, y, POINTS, 30, &seasonality)); /* seen once */
    assert_false(seasonality_measure(x, y, POINTS, 2, &seasonality));  /* too few points a period */
    assert_false(seasonality_measure(x, y, POINTS, 0, &seasonality));
    assert_false(seasonality_measure(x, y, 5, 2, &seasonality));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leak_below_a_day),
        cmocka_unit_test(test_day_alone),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("seasonality", tests, NULL, NULL);
}
