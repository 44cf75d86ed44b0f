#include "analyzers/plan/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static struct plan_sample look(int64_t loaded, int64_t unloaded, int64_t class_bytes,
                               int64_t metaspace)
{
    struct plan_sample out;
    sample_clear(&out.sample);
    out.shared_classes = out.arenas = -1;
    sample_set(&out.sample, SAMPLE_CLASSES_LOADED, loaded);
    sample_set(&out.sample, SAMPLE_CLASSES_UNLOADED, unloaded);
    sample_set_nmt(&out.sample, NMT_CLASS, (struct nmt_amount){class_bytes * 2, class_bytes});
    sample_set_nmt(&out.sample, NMT_METASPACE, (struct nmt_amount){metaspace * 2, metaspace});
    sample_set(&out.sample, SAMPLE_METASPACE_COMMITTED_BYTES, metaspace);
    return out;
}

static void one_more_by_growth(void **state)
{
    (void)state;
    struct plan_measured measured;
    struct plan_sample first = look(1000, 0, 1000000, 5000000);
    struct plan_sample last = look(3000, 500, 4000000, 11000000);
    first.arenas = 100;
    last.arenas = 1600;
    plan_measure(&measured, &first, &last, 10);
    assert_true(measured.have);
    assert_int_equal(measured.classes, 2500);
    assert_int_equal(measured.basis, PLAN_BASIS_GROWTH);
    assert_int_equal(measured.basis_classes, 1500);
    assert_float_equal(measured.bytes_per_class, 6000, 1e-9);
    assert_float_equal(measured.metaspace_per_class, 4000, 1e-9);
    assert_float_equal(measured.loads_per_s, 200, 1e-9);
    assert_float_equal(measured.unloads_per_s, 50, 1e-9);
    assert_float_equal(measured.loaders_per_class, 1.0, 1e-9);
    assert_int_equal(measured.class_bytes, 15000000);
}

/* An arena in Metaspace and one in class space. */
static void loaders_by_arenas(void **state)
{
    (void)state;
    struct plan_measured measured;
    struct plan_sample last = look(3000, 0, 4000000, 11000000);
    last.arenas = 400;
    plan_measure(&measured, NULL, &last, 0);
    assert_int_equal(measured.loaders, 400);
    sample_set(&last.sample, SAMPLE_CLASS_SPACE_USED_BYTES, 700000);
    plan_measure(&measured, NULL, &last, 0);
    assert_int_equal(measured.loaders, 200);
    last.arenas = 1000000; /* never more than classes */
    plan_measure(&measured, NULL, &last, 0);
    assert_int_equal(measured.loaders, 3000);
}

static void too_few_for_growth(void **state)
{
    (void)state;
    struct plan_measured measured;
    struct plan_sample first = look(1000, 0, 1000000, 5000000);
    struct plan_sample last = look(1000 + PLAN_GROWTH_CLASSES_MIN - 1, 0, 1500000, 6500000);
    last.shared_classes = 199;
    plan_measure(&measured, &first, &last, 10);
    assert_int_equal(measured.basis, PLAN_BASIS_MEAN);
    assert_int_equal(measured.basis_classes, 1000);
    assert_float_equal(measured.bytes_per_class, 8000, 1e-9);
    last = look(1000 + PLAN_GROWTH_CLASSES_MIN, 0, 1500000, 6500000);
    plan_measure(&measured, &first, &last, 10);
    assert_int_equal(measured.basis, PLAN_BASIS_GROWTH);
}

static void missing_is_not_zero(void **state)
{
    (void)state;
    struct plan_measured measured;
    struct plan_input input;
    struct plan_sample nothing;
    sample_clear(&nothing.sample);
    nothing.shared_classes = nothing.arenas = -1;
    plan_measure(&measured, &nothing, &nothing, 5);
    assert_int_equal(measured.basis, PLAN_BASIS_FORMULA);
    assert_int_equal(measured.class_bytes, -1);
    assert_int_equal(measured.rss_bytes, -1);
    assert_true(measured.loads_per_s < 0);
    plan_input_default(&input);
    plan_measured_input(&measured, &input);
    assert_false(plan_input_known(&input, PLAN_CLASSES));
    assert_true(plan_input_get(&input, PLAN_THREADS) == 200);
    /* A counter that falls: another JVM, or a lie. */
    struct plan_sample first = look(5000, 0, 10, 10), last = look(10, 0, 20, 20);
    plan_measure(&measured, &first, &last, 5);
    assert_true(measured.loads_per_s < 0);
    assert_int_not_equal(measured.basis, PLAN_BASIS_GROWTH);
}

static void the_input_takes_what_nobody_gave(void **state)
{
    (void)state;
    struct plan_measured measured;
    struct plan_input input;
    struct plan_sample first = look(1000, 0, 1000000, 5000000);
    struct plan_sample last = look(3000, 0, 4000000, 11000000);
    first.arenas = 10;
    last.arenas = 1010;
    sample_set(&last.sample, SAMPLE_THREADS, 44);
    plan_measure(&measured, &first, &last, 10);
    measured.limit_bytes = 1 << 30;
    plan_input_default(&input);
    plan_measured_input(&measured, &input);
    assert_true(plan_input_get(&input, PLAN_CLASSES) == 3000);
    assert_true(plan_input_get(&input, PLAN_LOADERS) == 1010);
    assert_true(plan_input_get(&input, PLAN_THREADS) == 44);
    assert_true(plan_input_get(&input, PLAN_LIMIT) == 1 << 30);
    assert_true(plan_input_get(&input, PLAN_GROWTH) == 0); /* ten seconds are no trend */
    plan_input_default(&input);
    plan_input_set(&input, PLAN_THREADS, 7);
    plan_input_set(&input, PLAN_CLASSES, 5000);
    plan_measured_input(&measured, &input);
    assert_true(plan_input_get(&input, PLAN_THREADS) == 7);
    assert_true(plan_input_get(&input, PLAN_CLASSES) == 5000);
    assert_true(plan_input_get(&input, PLAN_LOADERS) == 2010); /* and those to come */
    measured.judged = measured.growing = true;
    plan_measured_input(&measured, &input);
    assert_true(plan_input_get(&input, PLAN_GROWTH) == 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_more_by_growth),
        cmocka_unit_test(loaders_by_arenas),
        cmocka_unit_test(too_few_for_growth),
        cmocka_unit_test(missing_is_not_zero),
        cmocka_unit_test(the_input_takes_what_nobody_gave),
    };
    return cmocka_run_group_tests_name("measured", tests, NULL, NULL);
}
