/* A curve and noise go in; its kind comes out, and what it will still grow. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/bend.h"
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
        enum bend_curve kind;
        double least, most; /* halving ratio */
    } cases[] = {
        {line, BEND_LINE, 0.9, 1.1},  {plateau, BEND_PLATEAU, 0, 0.3},
        {both, BEND_BOTH, 0, 2},      {creep, BEND_CREEP, 0, 0.5},
        {root, BEND_ROOT, 0.2, 0.8},  {faster, BEND_FASTER, 2, 5},
        {late, BEND_LATE, -1e9, 1e9}, {stopped, BEND_STOPPED, -0.1, 0.3},
        {jump, BEND_JUMP, -1e9, 1e9},
    };
    uint64_t seed = 77;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int right = 0;
        for (int run = 0; run < 50; run++) {
            double x[POINTS], y[POINTS];
            struct bend bend;
            for (int i = 0; i < POINTS; i++) {
                x[i] = 100 + 10.0 * i / POINTS;
                y[i] = 7 + cases[k].curve(x[i] - 100) + 0.3 * injected_gauss(&seed);
            }
            assert_true(bend_fit(x, y, POINTS, 0, &bend));
            const struct bend_fit *with_line = &bend.fit[BEND_BOTH];
            bool same = cases[k].kind == BEND_PLATEAU && bend.best == BEND_BOTH &&
                        fabs(with_line->d * bend.span) < 0.03 * with_line->b;
            right += bend.best == cases[k].kind || same;
            if (bend.have_ratio && (bend.ratio < cases[k].least || bend.ratio > cases[k].most))
                fail_msg("curve %d: halving ratio %.3f", (int)k, bend.ratio);
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
    struct bend bend;
    for (int i = 0; i < POINTS; i++) {
        x[i] = 6.0 * i / (POINTS - 1);
        y[i] = plateau(x[i]) + 0.1 * injected_gauss(&seed);
    }
    assert_true(bend_fit(x, y, POINTS, 0, &bend));
    assert_true(fabs(bend_left(&bend, bend.span) - 100 * exp(-2)) < 0.5);
    assert_true(fabs(bend_slope(&bend, BEND_PLATEAU, 6) - 100 / 3.0 * exp(-2)) < 0.3);
    /* Without its bend it is the line from its beginning to its end. */
    for (int i = 0; i < POINTS; i++) {
        double straight = y[i] - bend_sag(&bend, x[i]);
        assert_true(fabs(straight - plateau(6) * x[i] / 6) < 0.8);
    }
    assert_true(bend_may_be_plateau(&bend, x, y, POINTS, 3));
    assert_false(bend_may_be_plateau(&bend, x, y, POINTS, 10));
}

static void test_a_line_with_much_noise_is_a_line(void **state)
{
    (void)state;
    uint64_t seed = 10;
    int lines = 0;
    for (int run = 0; run < 200; run++) {
        double x[POINTS], y[POINTS], e = 0;
        struct bend bend;
        for (int i = 0; i < POINTS; i++) {
            e = injected_memory(e, 0.5, &seed);
            x[i] = i;
            y[i] = i + 6 * e;
        }
        assert_true(bend_fit(x, y, POINTS, 0, &bend));
        lines += bend.best == BEND_LINE;
    }
    assert_in_range(lines, 180, 200);
}

static void test_edges(void **state)
{
    (void)state;
    double x[POINTS], y[POINTS];
    struct bend bend;
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[i] = 5;
    }
    assert_false(bend_fit(x, y, 7, 0, &bend));
    assert_true(bend_fit(x, y, POINTS, 0, &bend)); /* constant */
    assert_int_equal(bend.best, BEND_LINE);
    assert_false(bend.have_ratio);
    assert_true(bend_slope(&bend, BEND_LINE, 3) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_what_is_left_of_a_plateau),
        cmocka_unit_test(test_a_line_with_much_noise_is_a_line),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests_name("bend", tests, NULL, NULL);
}
