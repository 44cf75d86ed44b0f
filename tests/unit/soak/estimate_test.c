/* Levels and slopes: inject the truth, demand it back; inject nothing, demand silence. */
#include "analyzers/soak/estimate.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define HOUR_MS 3600000.0

/* Deterministic noise: xorshift, summed to something like a normal. */
static double noise(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        sum += (double)(*state >> 11) / 9007199254740992.0;
    }
    return sum - 6;
}

static void fill(struct points *points, int n, double per_h, double sigma, double memory,
                 uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    double error = 0;
    for (int i = 0; i < n; i++) {
        error = memory * error + sqrt(1 - memory * memory) * sigma * noise(&state);
        points_add(points, i * 2000, 1e7 + per_h * i * 2000 / HOUR_MS + error);
    }
}

/* How often the interval of the slope holds the truth, of 200 series. */
static int covered(double per_h, double memory)
{
    int hits = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct points points = {0};
        fill(&points, 150, per_h, 50000, memory, seed);
        struct estimate slope = estimate_slope(&points, 0, 300000, 1024);
        hits += slope.known && slope.low <= per_h && per_h <= slope.high;
        points_free(&points);
    }
    return hits;
}

static void slope_holds_the_truth(void **state)
{
    (void)state;
    assert_true(covered(0, 0) >= 184); /* 92 %: 95 less two standard deviations */
    assert_true(covered(5e6, 0) >= 184);
    assert_true(covered(5e6, 0.5) >= 180);
    assert_true(covered(5e6, 0.9) >= 160); /* 20 s of memory in 5 min: no method sees through */
}

static void slope_is_not_boundless(void **state)
{
    (void)state;
    struct points points = {0};
    fill(&points, 150, 6e7, 50000, 0, 3);
    struct estimate slope = estimate_slope(&points, 0, 300000, 1024);
    assert_true(slope.low > 5e7 && slope.high < 7e7);
    points_free(&points);
}

static void a_spike_is_not_seen(void **state)
{
    (void)state;
    struct points points = {0};
    for (int i = 0; i < 150; i++)
        points_add(&points, i * 2000, i == 149 || i == 70 ? 9e9 : 1e7);
    struct estimate slope = estimate_slope(&points, 0, 300000, 1024);
    struct estimate level = estimate_level(&points, 0, 300000, 1024);
    assert_true(slope.known && fabs(slope.value) < 1);
    assert_true(level.known && fabs(level.value - 1e7) < 1);
    points_free(&points);
}

static void constants_have_an_interval(void **state)
{
    (void)state;
    struct points points = {0};
    fill(&points, 150, 0, 0, 0, 1);
    struct estimate level = estimate_level(&points, 0, 300000, 1024);
    assert_true(level.low < 1e7 && level.high > 1e7 && level.high - level.low < 2048);
    points_free(&points);
}

static void level_of_a_ramp_is_its_end(void **state)
{
    (void)state;
    struct points points = {0};
    fill(&points, 150, 6e7, 10000, 0, 5);
    double truth = 1e7 + 6e7 * 149 * 2000 / HOUR_MS;
    struct estimate level = estimate_level(&points, 200000, 300000, 1024);
    assert_true(level.low <= truth && truth <= level.high);
    assert_true(level.high - level.low < 100000);
    points_free(&points);
}

static void differences_know_both_noises(void **state)
{
    (void)state;
    struct estimate a = {true, 100, 97, 103}, b = {true, 110, 106, 114};
    struct estimate change = estimate_difference(a, b);
    assert_true(change.known);
    assert_float_equal(change.value, 10, 1e-9);
    assert_float_equal(change.low, 5, 1e-9);
    assert_float_equal(change.high, 15, 1e-9);
    assert_false(estimate_difference(a, (struct estimate){0}).known);
}

static void too_little_is_unknown(void **state)
{
    (void)state;
    struct points points = {0};
    fill(&points, 5, 0, 0, 0, 1);
    assert_false(estimate_slope(&points, 0, 300000, 1024).known);
    assert_false(estimate_level(&points, 0, 300000, 1024).known);
    assert_false(estimate_slope(&points, 900000, 990000, 1024).known);
    points_free(&points);
    assert_false(estimate_slope(&(struct points){0}, 0, 1, 1).known);
}

static void growth_per_step(void **state)
{
    (void)state;
    struct points points = {0}, counter = {0};
    uint64_t seed = 99;
    /* 3 deployments a minute, 200 KB each; the counter is read at other times. */
    for (int i = 0; i < 150; i++)
        points_add(&points, i * 2000, 1e7 + 204800.0 * floor(i * 2 / 20.0) + 5000 * noise(&seed));
    for (int i = 0; i < 60; i++)
        points_add(&counter, i * 5000 + 700, 40 + floor((i * 5 + 0.7) / 20));
    struct estimate each = estimate_per_step(&points, &counter, 0, 300000, 1024);
    assert_true(each.known);
    assert_true(each.low <= 204800 && 204800 <= each.high);
    assert_true(each.high - each.low < 100000);
    points_free(&counter);
    for (int i = 0; i < 60; i++)
        points_add(&counter, i * 5000, 40);
    assert_false(estimate_per_step(&points, &counter, 0, 300000, 1024).known); /* it stands still */
    points_free(&points);
    points_free(&counter);
}

static void points_stay_few(void **state)
{
    (void)state;
    struct points points = {0};
    for (int i = 0; i < 100000; i++)
        assert_true(points_add(&points, i * 1000, i));
    assert_true(points.count <= POINTS_MAX && points.count > POINTS_MAX / 2 - 2);
    for (int i = 0; i < points.count; i++) { /* merged evenly: still the line it was */
        assert_float_equal(points.at[i].value, (double)points.at[i].ms / 1000, 1);
        assert_true(i == 0 || points.at[i].ms > points.at[i - 1].ms);
    }
    int count = points.count;
    points_add(&points, 5, 1); /* back in time */
    assert_int_equal(points.count, count);
    points_free(&points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slope_holds_the_truth),
        cmocka_unit_test(slope_is_not_boundless),
        cmocka_unit_test(a_spike_is_not_seen),
        cmocka_unit_test(constants_have_an_interval),
        cmocka_unit_test(level_of_a_ramp_is_its_end),
        cmocka_unit_test(differences_know_both_noises),
        cmocka_unit_test(too_little_is_unknown),
        cmocka_unit_test(growth_per_step),
        cmocka_unit_test(points_stay_few),
    };
    return cmocka_run_group_tests_name("estimate", tests, NULL, NULL);
}
