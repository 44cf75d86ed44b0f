/* A known slope and known noise go in; the slope has to come back, and the interval has to hold it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/trend_line.h"

#include <math.h>

static double noise(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (double)(1 << 24) - 0.5;
}

static void test_exact_line(void **state)
{
    (void)state;
    double x[5] = {0, 1, 2, 3, 4}, y[5] = {1, 3, 5, 7, 9};
    struct theil_sen out;
    assert_true(theil_sen(x, y, 5, &out));
    assert_true(out.slope == 2 && out.low == 2 && out.high == 2);
}

static void test_wild_points_do_not_bend_it(void **state)
{
    (void)state;
    double x[40], y[40];
    for (int i = 0; i < 40; i++) {
        x[i] = i;
        y[i] = 3 * i + (i % 10 == 0 ? 1e6 : 0);
    }
    struct theil_sen out;
    assert_true(theil_sen(x, y, 40, &out));
    assert_true(fabs(out.slope - 3) < 1e-9);
}

static void test_interval_holds_the_truth_as_often_as_it_says(void **state)
{
    (void)state;
    unsigned seed = 11;
    int held = 0;
    enum { RUNS = 400, POINTS = 60 };
    for (int run = 0; run < RUNS; run++) {
        double x[POINTS], y[POINTS];
        for (int i = 0; i < POINTS; i++) {
            x[i] = i;
            y[i] = 0.05 * i + 4 * noise(&seed);
        }
        struct theil_sen out;
        assert_true(theil_sen(x, y, POINTS, &out));
        held += out.low <= 0.05 && 0.05 <= out.high;
    }
    assert_in_range(held, RUNS * 92 / 100, RUNS * 98 / 100);
}

static void test_refusals(void **state)
{
    (void)state;
    double x[THEIL_SEN_POINTS_MAX + 1] = {0}, y[THEIL_SEN_POINTS_MAX + 1] = {0};
    struct theil_sen out;
    assert_false(theil_sen(x, y, 3, &out));
    assert_false(theil_sen(x, y, 10, &out)); /* one x only */
    assert_false(theil_sen(x, y, THEIL_SEN_POINTS_MAX + 1, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_line),
        cmocka_unit_test(test_wild_points_do_not_bend_it),
        cmocka_unit_test(test_interval_holds_the_truth_as_often_as_it_says),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("theil_sen", tests, NULL, NULL);
}
