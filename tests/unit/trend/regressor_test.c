/* Bytes per class and a leak beside them go in; both come back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/window.h"
#include "tests/unit/trend/injected.h"

enum { POINTS = 40 };

/* Classes rise as half a cosine, or evenly. */
static bool explain(double per_class, double leak_per_h, bool evenly, struct regressor *regressor)
{
    double x[POINTS], y[POINTS], classes[POINTS];
    uint64_t seed = 21;
    for (int i = 0; i < POINTS; i++) {
        double share = (double)i / (POINTS - 1);
        x[i] = 10 * share;
        classes[i] = 20000 * (evenly ? share : (1 - cos(M_PI * share)) / 2);
        y[i] = per_class * classes[i] + leak_per_h * x[i] + 20000 * injected_gauss(&seed);
    }
    return regressor_explain(x, y, classes, POINTS, 1024, MB, regressor);
}

static void test_all_of_it_is_classes(void **state)
{
    (void)state;
    struct regressor regressor;
    assert_true(explain(6000, 0, false, &regressor));
    assert_true(fabs(regressor.bytes_per_class - 6000) < 50);
    assert_true(regressor.explained_share > 0.97);
    assert_true(fabs(regressor.left) < 60000);
}

static void test_half_of_it_is_a_leak(void **state)
{
    (void)state;
    struct regressor regressor;
    assert_true(explain(6000, 12 * MB, false, &regressor));
    assert_true(fabs(regressor.bytes_per_class - 6000) < 300);
    assert_true(regressor.explained_share > 0.45 && regressor.explained_share < 0.55);
    assert_true(fabs(regressor.left - 12 * MB) < 0.3 * MB);
    assert_true(regressor.left_low > 11 * MB && regressor.left_high < 13 * MB);
}

static void test_evenly_loaded_classes_take_all(void **state)
{
    (void)state;
    struct regressor regressor;
    assert_true(explain(6000, 0, true, &regressor));
    assert_true(fabs(regressor.bytes_per_class - 6000) < 50 && regressor.explained_share > 0.97);
    /* It might be something else that rises evenly. */
    assert_true(regressor.left_low < 0.1 * MB && regressor.left_high > 10 * MB);
}

static void test_refusals(void **state)
{
    (void)state;
    double x[POINTS], y[POINTS], still[POINTS], unknown[POINTS];
    struct regressor regressor;
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[i] = i * MB;
        still[i] = 5000;
        unknown[i] = NAN;
    }
    assert_false(regressor_explain(x, y, still, POINTS, 1, MB, &regressor));
    assert_false(regressor_explain(x, y, unknown, POINTS, 1, MB, &regressor));
    assert_false(explain(1, 0, false, &regressor)); /* nothing grew */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it_is_classes),
        cmocka_unit_test(test_half_of_it_is_a_leak),
        cmocka_unit_test(test_evenly_loaded_classes_take_all),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("regressor", tests, NULL, NULL);
}
