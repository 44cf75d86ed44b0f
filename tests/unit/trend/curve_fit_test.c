/* A curve and noise go in; its kind comes out, and what it will still grow. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/curve_fit.h"
#include "tests/unit/trend/injected.h"

enum { POINTS = 40 };

static double line(double t)
{
    return 5 * t;
}
static double plateau(double t)
{
    return 100 * (1 - exp(-t / 3));
}
static double both(double t)
{
    return 60 * (1 - exp(-t / 0.5)) + 5 * t;
}
static double creep(double t)
{
    return 20 * log1p(t / 0.2);
}
static double root(double t)
{
    return 40 * sqrt(t);
}
static double faster(double t)
{
    return t + t * t;
}
static double late(double t)
{
    return t > 6 ? 10 * (t - 6) : 0;
}
static double stopped(double t)
{
    return 10 * fmin(t, 5);
}
static double jump(double t)
{
    return t > 4 ? 30 : 0;
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        double (*curve)(double);
        enum curve kind;
        double least, most; /* halving ratio */
    } cases[] = {
        {line, CURVE_LINE, 0.9, 1.1},         {plateau, CURVE_PLATEAU, 0, 0.3},
        {both, CURVE_PLATEAU_AND_LINE, 0, 2}, {creep, CURVE_LOGARITHM, 0, 0.5},
        {root, CURVE_ROOT, 0.2, 0.8},         {faster, CURVE_QUADRATIC, 2, 5},
        {late, CURVE_ONSET, -1e9, 1e9},       {stopped, CURVE_END, -0.1, 0.3},
        {jump, CURVE_STEP, -1e9, 1e9},
    };
    uint64_t seed = 77;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int right = 0;
        for (int run = 0; run < 50; run++) {
            double x[POINTS], y[POINTS];
            struct curve_fit curve_fit;
            for (int i = 0; i < POINTS; i++) {
                x[i] = 100 + 10.0 * i / POINTS;
                y[i] = 7 + cases[k].curve(x[i] - 100) + 0.3 * injected_gauss(&seed);
            }
            assert_true(curve_fit_measure(x, y, POINTS, 0, &curve_fit));
            const struct curve_parameters *with_line = &curve_fit.fit[CURVE_PLATEAU_AND_LINE];
            bool same = cases[k].kind == CURVE_PLATEAU &&
                        curve_fit.best == CURVE_PLATEAU_AND_LINE &&
                        fabs(with_line->d * curve_fit.span) < 0.03 * with_line->b;
            right += curve_fit.best == cases[k].kind || same;
            if (curve_fit.have_ratio &&
                (curve_fit.ratio < cases[k].least || curve_fit.ratio > cases[k].most))
                fail_msg("curve %d: halving ratio %.3f", (int)k, curve_fit.ratio);
        }
        if (right < 45)
            fail_msg("curve %d was recognised %d times of 50", (int)k, right);
    }
}

static void test_what_is_left_of_a_plateau(void **state)
{
    (void)state;
    double x[POINTS], y[POINTS];
    uint64_t seed = 9;
    struct curve_fit curve_fit;
    for (int i = 0; i < POINTS; i++) {
        x[i] = 6.0 * i / (POINTS - 1);
        y[i] = plateau(x[i]) + 0.1 * injected_gauss(&seed);
    }
    assert_true(curve_fit_measure(x, y, POINTS, 0, &curve_fit));
    assert_true(fabs(curve_fit_left(&curve_fit, curve_fit.span) - 100 * exp(-2)) < 0.5);
    assert_true(fabs(curve_fit_slope(&curve_fit, CURVE_PLATEAU, 6) - 100 / 3.0 * exp(-2)) < 0.3);
    /* Without its curve_fit it is the line from its beginning to its end. */
    for (int i = 0; i < POINTS; i++) {
        double straight = y[i] - curve_fit_sag(&curve_fit, x[i]);
        assert_true(fabs(straight - plateau(6) * x[i] / 6) < 0.8);
    }
    assert_true(curve_fit_may_be_plateau(&curve_fit, x, y, POINTS, 3));
    assert_false(curve_fit_may_be_plateau(&curve_fit, x, y, POINTS, 10));
}

static void test_a_line_with_much_noise_is_a_line(void **state)
{
    (void)state;
    uint64_t seed = 10;
    int lines = 0;
    for (int run = 0; run < 200; run++) {
        double x[POINTS], y[POINTS], e = 0;
        struct curve_fit curve_fit;
        for (int i = 0; i < POINTS; i++) {
            e = injected_memory(e, 0.5, &seed);
            x[i] = i;
            y[i] = i + 6 * e;
        }
        assert_true(curve_fit_measure(x, y, POINTS, 0, &curve_fit));
        lines += curve_fit.best == CURVE_LINE;
    }
    assert_in_range(lines, 180, 200);
}

static void test_edges(void **state)
{
    (void)state;
    double x[POINTS], y[POINTS];
    struct curve_fit curve_fit;
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[i] = 5;
    }
    assert_false(curve_fit_measure(x, y, 7, 0, &curve_fit));
    assert_true(curve_fit_measure(x, y, POINTS, 0, &curve_fit)); /* constant */
    assert_int_equal(curve_fit.best, CURVE_LINE);
    assert_false(curve_fit.have_ratio);
    assert_true(curve_fit_slope(&curve_fit, CURVE_LINE, 3) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_what_is_left_of_a_plateau),
        cmocka_unit_test(test_a_line_with_much_noise_is_a_line),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests_name("curve_fit", tests, NULL, NULL);
}
