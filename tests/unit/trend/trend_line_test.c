/* A slope and noise with a memory go in: the slope comes back, the interval holds it as often as it
 * says, and no slope is found where there is none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/trend_line.h"
#include "tests/unit/trend/injected.h"

enum { POINTS = 40 };

/* Means of samples of an AR(1) process on a line. */
static void make(double *x, double *y, int samples, double r, double slope, uint64_t *seed)
{
    double e = injected_gauss(seed);
    for (int i = 0; i < POINTS; i++)
        x[i] = y[i] = 0;
    for (int i = 0; i < samples; i++) {
        int bin = i * POINTS / samples;
        double share = (double)POINTS / samples;
        x[bin] += i * share;
        y[bin] += (slope * i + e) * share;
        e = injected_memory(e, r, seed);
    }
}

static void test_exact_line(void **state)
{
    (void)state;
    double x[6] = {0, 1, 2, 3, 5, 8}, y[6] = {1, 3, 5, 7, 11, 17};
    struct trend_line line;
    assert_true(trend_line(x, y, 6, 0, &line));
    assert_true(line.slope == 2 && trend_line_reach(&line, 0.05) < 1e-9);
    /* Counted in whole units it is not known better than to these. */
    assert_true(trend_line(x, y, 6, 1, &line));
    assert_true(trend_line_reach(&line, 0.05) > 1.0 / 8 / 2);
}

static void test_wild_points_do_not_bend_it(void **state)
{
    (void)state;
    double x[POINTS], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[i] = 3 * i + (i % 8 == 0 ? 1e6 : 0);
    }
    struct trend_line line;
    assert_true(trend_line(x, y, POINTS, 0, &line));
    assert_true(fabs(line.slope - 3) < 1e-9);
}

static void test_interval_holds_the_truth(void **state)
{
    (void)state;
    static const struct {
        int samples;
        double r;
        int least, most; /* of a thousand */
    } cases[] = {
        {40, 0, 940, 1000},      {400, 0, 940, 1000},   {100, 0.5, 940, 1000},
        {100, 0.9, 925, 1000},   {400, 0.9, 940, 1000}, {4000, 0.9, 940, 1000},
        {4000, 0.99, 940, 1000},
    };
    uint64_t seed = 4711;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int held = 0, alarms = 0;
        for (int run = 0; run < 1000; run++) {
            double x[POINTS], y[POINTS];
            struct trend_line line;
            make(x, y, cases[k].samples, cases[k].r, 0.01, &seed);
            assert_true(trend_line(x, y, POINTS, 0, &line));
            held += fabs(line.slope - 0.01) <= trend_line_reach(&line, 0.05);
            alarms += trend_line_certain(&line, 1e-4) > 0.01;
        }
        if (held < cases[k].least || held > cases[k].most || alarms > 2)
            fail_msg("%d samples, r %.2f: held %d of 1000, %d certain and wrong", cases[k].samples,
                     cases[k].r, held, alarms);
    }
}

static void test_a_random_walk_is_no_trend(void **state)
{
    (void)state;
    uint64_t seed = 5;
    int certain = 0, kendall = 0;
    for (int run = 0; run < 500; run++) {
        double x[POINTS], y[POINTS], e = 0;
        struct trend_line line;
        for (int i = 0; i < POINTS; i++) {
            x[i] = i;
            y[i] = e += injected_gauss(&seed);
        }
        assert_true(trend_line(x, y, POINTS, 0, &line));
        certain += trend_line_certain(&line, 3e-4) > 0;
        kendall += line.kendall_z > 3;
    }
    assert_in_range(certain, 0, 20); /* least squares alone: four hundred */
    assert_in_range(kendall, 0, 25);
}

static void test_gaps_count_as_what_they_are(void **state)
{
    (void)state;
    double x[POINTS], y[POINTS];
    uint64_t seed = 8;
    struct trend_line near, far;
    double e = 0;
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[i] = e = injected_memory(e, 0.8, &seed);
    }
    assert_true(trend_line(x, y, POINTS, 0, &near));
    for (int i = POINTS / 2; i < POINTS; i++)
        x[i] += 1000;
    assert_true(trend_line(x, y, POINTS, 0, &far));
    assert_true(trend_line_reach(&far, 0.05) < trend_line_reach(&near, 0.05) / 10);
}

static void test_refusals(void **state)
{
    (void)state;
    double x[TREND_LINE_POINTS_MAX + 1] = {0}, y[TREND_LINE_POINTS_MAX + 1] = {0};
    struct trend_line line;
    assert_false(trend_line(x, y, 3, 0, &line));
    assert_false(trend_line(x, y, 10, 0, &line)); /* one x only */
    assert_false(trend_line(x, y, TREND_LINE_POINTS_MAX + 1, 0, &line));
}

static void test_medians(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int n = 1; n < 60; n++) {
        double values[60], copy[60];
        for (int i = 0; i < n; i++)
            copy[i] = values[i] = floor(injected_uniform(&seed) * 10); /* many ties */
        double median = trend_median(copy, n);
        int below = 0, above = 0;
        for (int i = 0; i < n; i++) {
            below += values[i] < median;
            above += values[i] > median;
        }
        assert_in_range(below, 0, n / 2);
        assert_in_range(above, 0, n / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_line),
        cmocka_unit_test(test_wild_points_do_not_bend_it),
        cmocka_unit_test(test_interval_holds_the_truth),
        cmocka_unit_test(test_a_random_walk_is_no_trend),
        cmocka_unit_test(test_gaps_count_as_what_they_are),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_medians),
    };
    return cmocka_run_group_tests_name("trend_line", tests, NULL, NULL);
}
