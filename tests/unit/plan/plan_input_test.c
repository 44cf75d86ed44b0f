#include "analyzers/plan/plan_input.h"

#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static char error[200];

static bool with(enum plan_number number, double value)
{
    struct plan_input input;
    plan_input_default(&input);
    plan_input_set(&input, PLAN_CLASSES, 5000);
    plan_input_set(&input, number, value);
    return plan_input_check(&input, error, sizeof error);
}

static void every_number_has_a_range(void **state)
{
    (void)state;
    for (int i = 0; i < PLAN_NUMBER_COUNT; i++) {
        const struct plan_number_row *row = plan_number_row((enum plan_number)i);
        assert_false(with((enum plan_number)i, -1));
        assert_non_null(strstr(error, row->option));
        assert_null(strchr(error, '\n'));
        assert_false(with((enum plan_number)i, row->most * 2));
        assert_false(with((enum plan_number)i, 0.0 / 0.0));
        assert_true(row->initial < 0 || (row->initial >= row->least && row->initial <= row->most));
        if (i != PLAN_LOADERS)
            assert_true(with((enum plan_number)i, row->least));
    }
    assert_false(with(PLAN_THREADS, 1.5));
    assert_true(with(PLAN_METHODS_PER_CLASS, 1.5));
}

static void contradictions(void **state)
{
    (void)state;
    assert_false(with(PLAN_LOADERS, 5001));
    assert_true(with(PLAN_LOADERS, 5000));
    struct plan_input input;
    plan_input_default(&input);
    assert_false(plan_input_check(&input, error, sizeof error));
    assert_non_null(strstr(error, "--classes"));
    plan_input_set(&input, PLAN_CLASSES, 1);
    assert_true(plan_input_check(&input, error, sizeof error));
    plan_input_set(&input, PLAN_CHURN, 1e6);
    plan_input_set(&input, PLAN_HORIZON, 315576000);
    assert_false(plan_input_check(&input, error, sizeof error));
    plan_input_set(&input, PLAN_CHURN, 0);
    input.jdk_major = 7;
    assert_false(plan_input_check(&input, error, sizeof error));
}

static void what_comes_within_the_time(void **state)
{
    (void)state;
    struct plan_input input;
    plan_input_default(&input);
    assert_true(plan_input_churned(&input) == 0.0);
    plan_input_set(&input, PLAN_CHURN, 0.5);
    plan_input_set(&input, PLAN_GROWTH, 2);
    plan_input_set(&input, PLAN_HORIZON, 3600);
    assert_true(plan_input_churned(&input) == 1800.0);
    assert_true(plan_input_grown(&input) == 7200.0);
}

static void collectors(void **state)
{
    (void)state;
    enum plan_gc gc;
    for (int i = PLAN_GC_SERIAL; i <= PLAN_GC_SHENANDOAH; i++) {
        assert_true(plan_gc_from_name(plan_gc_name((enum plan_gc)i), &gc));
        assert_int_equal(gc, i);
    }
    assert_false(plan_gc_from_name("cms", &gc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_has_a_range),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(what_comes_within_the_time),
        cmocka_unit_test(collectors),
    };
    return cmocka_run_group_tests_name("plan_input", tests, NULL, NULL);
}
