/* Drift of a random walk: the test errs as often as it says on normal steps, less often on others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/trend_line.h"
#include "tests/unit/trend/injected.h"

#define POINTS 8
#define TRIALS 40000
#define P      0.01

typedef double step_fn(uint64_t *seed);

static double normal(uint64_t *seed)
{
    return injected_gauss(seed);
}

static double laplace(uint64_t *seed)
{
    double u = injected_uniform(seed) - 0.5;
    return u < 0 ? log(1 + 2 * u + 1e-300) : -log(1 - 2 * u + 1e-300);
}

/* How often a walk of these steps, and this drift in steps per point, is certain to drift upwards. */
static double certain(step_fn *step, double drift_steps, bool even, bool is_walk)
{
    uint64_t seed = 42;
    int found = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        double x[POINTS], y[POINTS], walk = 0, at = 0;
        struct drift drift;
        for (int i = 0; i < POINTS; i++) {
            double dx = even ? 1 : 0.2 + 2 * injected_uniform(&seed);
            at += dx;
            walk = (is_walk ? walk : 0) + (is_walk ? sqrt(dx) : 1) * step(&seed);
            x[i] = at;
            y[i] = walk + drift_steps * at;
        }
        assert_true(drift_measure(x, y, POINTS, 0, P, &drift));
        found += drift.certain > 0;
    }
    return (double)found / TRIALS;
}

static void errs_as_often_as_it_says(void **state)
{
    (void)state;
    double even = certain(normal, 0, true, true), uneven = certain(normal, 0, false, true);
    assert_true(even > 0.0085 && even < 0.0115);
    assert_true(uneven > 0.0085 && uneven < 0.0115);
    assert_true(certain(laplace, 0, true, true) < P);
    assert_true(certain(normal, 0, true, false) < P / 10);
}

static void finds_a_drift_of_three_steps(void **state)
{
    (void)state;
    assert_true(certain(normal, 3, true, true) > 0.99);
}

static void an_even_rise_is_known_to_its_rounding(void **state)
{
    (void)state;
    double x[POINTS], y[POINTS];
    struct drift drift;
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[i] = 100 * i;
    }
    assert_true(drift_measure(x, y, POINTS, 1, 3e-4, &drift));
    assert_true(drift.slope == 100 && drift.fall == 0 && drift.certain > 98 && drift.certain < 100);
    assert_false(drift_may_end(&drift, x, y, POINTS, 1));
    y[5] = 380; /* 400, 380 */
    assert_true(drift_measure(x, y, POINTS, 1, 3e-4, &drift));
    assert_true(drift.fall == 20 && drift.certain < 98);
    assert_false(drift_measure(x, y, DRIFT_POINTS_MIN - 1, 1, 3e-4, &drift));
}

/* Time constants of a quarter of the span, of its whole, of twelve times it. */
static void a_start_up_may_end(void **state)
{
    (void)state;
    static const struct {
        double constant;
        bool ends;
    } starts[] = {{2, true}, {7, true}, {84, false}};
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        double x[POINTS], y[POINTS];
        struct drift drift;
        for (int i = 0; i < POINTS; i++) {
            x[i] = i;
            y[i] = 1e6 * (1 - exp(-i / starts[s].constant));
        }
        assert_true(drift_measure(x, y, POINTS, 1, 3e-4, &drift));
        assert_int_equal(drift_may_end(&drift, x, y, POINTS, 7), starts[s].ends);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errs_as_often_as_it_says),
        cmocka_unit_test(finds_a_drift_of_three_steps),
        cmocka_unit_test(an_even_rise_is_known_to_its_rounding),
        cmocka_unit_test(a_start_up_may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
