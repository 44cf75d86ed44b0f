/* Single wild samples go; edges, ramps and teeth stay as they are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/history.h"
#include "tests/unit/trend/injected.h"

enum { POINTS = 60 };

static int run(const double *in, double *out)
{
    struct despike despike = {0};
    int n = 0;
    for (int i = 0; i < POINTS; i++) {
        struct despike_point point = {.ms = i, .regressor = i, .value = in[i]}, clean;
        if (despike_push(&despike, &point, &clean)) {
            assert_int_equal(clean.ms, n); /* in order, none left out */
            assert_int_equal(clean.regressor, n);
            out[n++] = clean.value;
        }
    }
    return n;
}

static void test_spikes_go(void **state)
{
    (void)state;
    double in[POINTS], out[POINTS];
    uint64_t seed = 2;
    for (int i = 0; i < POINTS; i++)
        in[i] = 100 * MB + 10000 * injected_gauss(&seed) +
                (i == 20   ? 50 * MB
                 : i == 40 ? -99 * MB
                           : 0);
    assert_int_equal(run(in, out), POINTS - 2);
    for (int i = 0; i < POINTS - 2; i++)
        assert_true(fabs(out[i] - 100 * MB) < 60000);
}

static void test_edges_ramps_and_teeth_stay(void **state)
{
    (void)state;
    double edge[POINTS], teeth[POINTS], out[POINTS];
    for (int i = 0; i < POINTS; i++) {
        edge[i] = i < 30 ? 0 : 80 * MB;
        teeth[i] = i % 12 * 5 * MB;
    }
    run(edge, out);
    assert_memory_equal(out, edge, (POINTS - 2) * sizeof *out);
    run(teeth, out);
    assert_memory_equal(out, teeth, (POINTS - 2) * sizeof *out);
}

static void test_small_steps_are_not_wild(void **state)
{
    (void)state;
    double in[POINTS], out[POINTS];
    for (int i = 0; i < POINTS; i++)
        in[i] = i % 9 == 0 ? 1024 : 0; /* one kilobyte now and then */
    run(in, out);
    assert_memory_equal(out, in, (POINTS - 2) * sizeof *out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spikes_go),
        cmocka_unit_test(test_edges_ramps_and_teeth_stay),
        cmocka_unit_test(test_small_steps_are_not_wild),
    };
    return cmocka_run_group_tests_name("despike", tests, NULL, NULL);
}
