/* What a command may cost the application: predictions against the measurements they come from. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmtwatch/watch/pause_budget.h"

static void test_predictions_cover_what_was_measured(void **state)
{
    (void)state;
    static const struct {
        enum dear_command command;
        struct pause_drivers drivers;
        int64_t measured_us;
    } rows[] = {
        {DEAR_LOADER_STATS, {20000, 300, 500 << 20}, 4000},
        {DEAR_LOADER_STATS, {100000, 100000, INT64_C(1600) << 20}, 1261000},
        {DEAR_CLASSES, {20000, 300, 500 << 20}, 20000},
        {DEAR_CLASSES, {100000, 100000, INT64_C(1600) << 20}, 655000},
        {DEAR_CLASS_HIERARCHY, {20000, 300, 500 << 20}, 60000},
        {DEAR_CLASS_HIERARCHY, {100000, 100000, INT64_C(1600) << 20}, 775000},
        {DEAR_HISTOGRAM_ALL, {100000, 100000, INT64_C(1600) << 20}, 850000},
    };
    struct pause_budget budget;
    pause_budget_init(&budget, 200000, 600000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t predicted_us = pause_predict(&budget, rows[i].command, &rows[i].drivers);
        assert_true(predicted_us >= rows[i].measured_us);
        assert_true(predicted_us <= 8 * rows[i].measured_us); /* of the same order */
    }
}

static void test_a_measurement_replaces_the_formula(void **state)
{
    (void)state;
    struct pause_budget budget;
    struct pause_drivers small = {20000, 300, 0}, large = {20000, 600, 0};
    pause_budget_init(&budget, 200000, 600000);
    pause_spend(&budget, DEAR_LOADER_STATS, &small, 0, 1000);
    assert_int_equal(pause_predict(&budget, DEAR_LOADER_STATS, &small), 1500);
    int64_t predicted_us = pause_predict(&budget, DEAR_LOADER_STATS, &large);
    assert_true(predicted_us > 1500 && predicted_us <= 3000);
}

static void test_the_budget_slides(void **state)
{
    (void)state;
    struct pause_budget budget;
    struct pause_drivers drivers = {0, 0, 0};
    pause_budget_init(&budget, 200000, 600000);
    assert_int_equal(pause_left_us(&budget, 0), 200000);
    pause_spend(&budget, DEAR_CLASSES, &drivers, 0, 150000);
    pause_spend(&budget, DEAR_CLASSES, &drivers, 300000, 100000);
    assert_int_equal(pause_left_us(&budget, 300000), 0);
    assert_int_equal(pause_left_us(&budget, 600000), 100000);
    assert_int_equal(pause_left_us(&budget, 900000), 200000);
    assert_int_equal(budget.total_us, 250000);
}

static void test_many_spends_are_never_forgotten_early(void **state)
{
    (void)state;
    struct pause_budget budget;
    struct pause_drivers drivers = {0, 0, 0};
    pause_budget_init(&budget, 200000, 600000);
    for (int i = 0; i < 1000; i++)
        pause_spend(&budget, DEAR_CLASSES, &drivers, i, 100);
    assert_int_equal(pause_left_us(&budget, 1000), 100000);
    assert_int_equal(pause_left_us(&budget, 700000), 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predictions_cover_what_was_measured),
        cmocka_unit_test(test_a_measurement_replaces_the_formula),
        cmocka_unit_test(test_the_budget_slides),
        cmocka_unit_test(test_many_spends_are_never_forgotten_early),
    };
    return cmocka_run_group_tests_name("pause_budget", tests, NULL, NULL);
}
