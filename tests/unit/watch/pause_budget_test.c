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
        enum expensive_command command;
        struct pause_inputs inputs;
        int64_t measured_us;
    } rows[] = {
        {EXPENSIVE_LOADER_STATS, {20000, 300, 500 << 20, {0, 0, 0}}, 4000},
        {EXPENSIVE_LOADER_STATS, {100000, 100000, INT64_C(1600) << 20, {0, 0, 0}}, 1261000},
        {EXPENSIVE_CLASSES, {20000, 300, 500 << 20, {0, 0, 0}}, 20000},
        {EXPENSIVE_CLASSES, {100000, 100000, INT64_C(1600) << 20, {0, 0, 0}}, 655000},
        {EXPENSIVE_CLASS_HIERARCHY, {20000, 300, 500 << 20, {0, 0, 0}}, 60000},
        {EXPENSIVE_CLASS_HIERARCHY, {100000, 100000, INT64_C(1600) << 20, {0, 0, 0}}, 775000},
        {EXPENSIVE_HISTOGRAM_ALL, {100000, 100000, INT64_C(1600) << 20, {0, 0, 0}}, 850000},
    };
    struct pause_budget budget;
    pause_budget_init(&budget, 200000, 600000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t predicted_us = pause_predict(&budget, rows[i].command, &rows[i].inputs);
        assert_true(predicted_us >= rows[i].measured_us);
        assert_true(predicted_us <= 8 * rows[i].measured_us); /* of the same order */
    }
}

static void test_a_measurement_replaces_the_formula(void **state)
{
    (void)state;
    struct pause_budget budget;
    struct pause_inputs small = {20000, 300, 0, {0, 0, 0}}, large = {20000, 600, 0, {0, 0, 0}};
    pause_budget_init(&budget, 200000, 600000);
    pause_spend(&budget, EXPENSIVE_LOADER_STATS, &small, 0, 1000);
    assert_int_equal(pause_predict(&budget, EXPENSIVE_LOADER_STATS, &small), 1500);
    int64_t predicted_us = pause_predict(&budget, EXPENSIVE_LOADER_STATS, &large);
    assert_true(predicted_us > 1500 && predicted_us <= 3000);
}

/* NMT off: triage left the heap out, and a histogram seemed to cost 5 ms. */
static void test_without_nmt_the_resident_memory_stands_for_the_heap(void **state)
{
    (void)state;
    struct sample sample;
    struct pause_budget budget;
    pause_budget_init(&budget, 2000000, 600000);
    sample_clear(&sample);
    sample_set(&sample, SAMPLE_CLASSES_LOADED, 1000);
    struct pause_inputs inputs = pause_inputs_of(&sample, -1);
    assert_int_equal(inputs.heap_bytes, -1);
    assert_true(pause_predict(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs) == PAUSE_UNKNOWN_US);
    assert_true(pause_predict(&budget, EXPENSIVE_LOADER_STATS, &inputs) <
                20000); /* walks no heap */
    sample_set(&sample, SAMPLE_RSS_BYTES, INT64_C(8) << 30);
    inputs = pause_inputs_of(&sample, 30);
    assert_int_equal(inputs.heap_bytes, INT64_C(8) << 30);
    assert_int_equal(inputs.loaders, 30);
    assert_true(pause_predict(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs) > 4000000);
    sample_set_nmt(&sample, NMT_JAVA_HEAP, (struct nmt_amount){INT64_C(4) << 30, INT64_C(1) << 30});
    inputs = pause_inputs_of(&sample, -1);
    assert_int_equal(inputs.heap_bytes, INT64_C(1) << 30);
}

/* What an issue reported of a loaded machine: 1.7 ms predicted, 128.2 measured; 14.8, 249.9. */
static void test_a_busy_machine_is_part_of_the_prediction(void **state)
{
    (void)state;
    static const struct {
        int64_t classes, quiet_us, measured_us;
    } rows[] = {{1000, 1700, 128200}, {66500, 14800, 249900}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pause_budget budget;
        struct pause_inputs inputs = {.classes = rows[i].classes};
        pause_budget_init(&budget, 200000, 600000);
        int64_t quiet_us = pause_predict(&budget, EXPENSIVE_LOADER_STATS, &inputs);
        assert_in_range(quiet_us, rows[i].quiet_us, rows[i].quiet_us + 100);
        inputs.pressure = (struct pause_pressure){1000, 97, 0};
        int64_t busy_us = pause_predict(&budget, EXPENSIVE_LOADER_STATS, &inputs);
        assert_in_range(busy_us, rows[i].measured_us, 2 * rows[i].measured_us);
        inputs.pressure.throttle_us = 100000;
        assert_int_equal(pause_predict(&budget, EXPENSIVE_LOADER_STATS, &inputs), busy_us + 100000);
        /* What it took then says nothing of a quiet machine. */
        pause_spend(&budget, EXPENSIVE_LOADER_STATS, &inputs, 0, rows[i].measured_us);
        inputs.pressure = (struct pause_pressure){90, 3, 0};
        assert_int_equal(pause_predict(&budget, EXPENSIVE_LOADER_STATS, &inputs), quiet_us);
    }
}

/* Reported: 9.7 s predicted for a histogram of a heap of 256 MB under load, 2 to 44 ms measured. */
static void test_a_busy_machine_is_learned_from(void **state)
{
    (void)state;
    struct pause_budget budget;
    struct pause_inputs inputs = {1813, 300, INT64_C(256) << 20, {2100, 97, 0}};
    pause_budget_init(&budget, 200000, 600000);
    assert_true(pause_predict(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs) > 2000000);
    /* The first one is asked: its work fits. */
    assert_true(pause_needed(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs) <= 200000);
    pause_spend(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs, 0, 40000);
    assert_int_equal(pause_predict(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs), 60000);
    /* A short one does not make a long one forgotten at once. */
    pause_spend(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs, 1000, 2000);
    assert_int_equal(pause_predict(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs), 45000);
    for (int i = 0; i < 20; i++)
        pause_spend(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs, 2000 + i, 2000);
    assert_in_range(pause_predict(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs), 2000, 4000);
    /* What is long is refused from then on, not what is predicted to be. */
    pause_spend(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs, 3000, 900000);
    assert_true(pause_needed(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs) > 200000);
    /* Twice the load is twice as long. */
    pause_budget_init(&budget, 200000, 600000);
    pause_spend(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs, 0, 40000);
    inputs.pressure.runnable_percent *= 2;
    assert_in_range(pause_predict(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs), 110000, 130000);
    /* A quiet machine is at least as fast. */
    inputs.pressure = (struct pause_pressure){90, 3, 0};
    assert_int_equal(pause_predict(&budget, EXPENSIVE_HISTOGRAM_ALL, &inputs), 60000);
}

static void test_what_is_busy(void **state)
{
    (void)state;
    static const struct {
        struct pause_pressure pressure;
        bool pressed;
    } rows[] = {
        {{0, 0, 0}, false},   {{90, 5, 0}, false},  {{900, 2, 0}, false}, /* waits for disks */
        {{100, 60, 0}, true}, {{90, -1, 0}, false}, {{300, -1, 0}, true}, {{10, 5, 50000}, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(pause_pressed(&rows[i].pressure), rows[i].pressed);
}

static void test_the_budget_slides(void **state)
{
    (void)state;
    struct pause_budget budget;
    struct pause_inputs inputs = {0, 0, 0, {0, 0, 0}};
    pause_budget_init(&budget, 200000, 600000);
    assert_int_equal(pause_left_us(&budget, 0), 200000);
    pause_spend(&budget, EXPENSIVE_CLASSES, &inputs, 0, 150000);
    pause_spend(&budget, EXPENSIVE_CLASSES, &inputs, 300000, 100000);
    assert_int_equal(pause_left_us(&budget, 300000), 0);
    assert_int_equal(pause_left_us(&budget, 600000), 100000);
    assert_int_equal(pause_left_us(&budget, 900000), 200000);
    assert_int_equal(budget.total_us, 250000);
}

static void test_many_spends_are_never_forgotten_early(void **state)
{
    (void)state;
    struct pause_budget budget;
    struct pause_inputs inputs = {0, 0, 0, {0, 0, 0}};
    pause_budget_init(&budget, 200000, 600000);
    for (int i = 0; i < 1000; i++)
        pause_spend(&budget, EXPENSIVE_CLASSES, &inputs, i, 100);
    assert_int_equal(pause_left_us(&budget, 1000), 100000);
    assert_int_equal(pause_left_us(&budget, 700000), 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predictions_cover_what_was_measured),
        cmocka_unit_test(test_a_measurement_replaces_the_formula),
        cmocka_unit_test(test_without_nmt_the_resident_memory_stands_for_the_heap),
        cmocka_unit_test(test_a_busy_machine_is_part_of_the_prediction),
        cmocka_unit_test(test_a_busy_machine_is_learned_from),
        cmocka_unit_test(test_what_is_busy),
        cmocka_unit_test(test_the_budget_slides),
        cmocka_unit_test(test_many_spends_are_never_forgotten_early),
    };
    return cmocka_run_group_tests_name("pause_budget", tests, NULL, NULL);
}
