/* Quantiles against a printed table (Abramowitz and Stegun, 26.10), and beyond it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/trend_line.h"

#include <math.h>

static void near(double got, double wanted)
{
    if (fabs(got - wanted) > 2e-3 * wanted)
        fail_msg("got %.6f, wanted %.6f", got, wanted);
}

static void test_normal(void **state)
{
    (void)state;
    near(normal_quantile(0.975), 1.959964);
    near(normal_quantile(0.9995), 3.290527);
    near(normal_quantile(1 - 1e-6), 4.753424);
    near(-normal_quantile(0.025), 1.959964);
    assert_true(fabs(normal_quantile(0.5)) < 1e-9);
}

static void test_table(void **state)
{
    (void)state;
    near(student_quantile(0.05, 1), 12.706);
    near(student_quantile(0.05, 2), 4.303);
    near(student_quantile(0.05, 5), 2.571);
    near(student_quantile(0.05, 10), 2.228);
    near(student_quantile(0.01, 10), 3.169);
    near(student_quantile(0.001, 30), 3.646);
    near(student_quantile(0.05, 1e6), 1.960);
}

static void test_fractions_lie_between_and_nonsense_is_cautious(void **state)
{
    (void)state;
    double between = student_quantile(0.05, 3.5);
    assert_true(between < student_quantile(0.05, 3) && between > student_quantile(0.05, 4));
    near(student_quantile(0.05, 0.3), 12.706); /* less than one degree: as one */
    for (double p = 0.2; p > 1e-9; p /= 3) {
        for (double n = 1; n < 200; n *= 1.7)
            assert_true(student_quantile(p / 3, n) > student_quantile(p, n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_fractions_lie_between_and_nonsense_is_cautious),
    };
    return cmocka_run_group_tests_name("student", tests, NULL, NULL);
}
