/* Teeth are there at every scale up to their length, with their distance; noise is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/drawdown.h"
#include "tests/unit/trend/injected.h"

static void test_teeth(void **state)
{
    (void)state;
    struct drawdown drawdown = {0};
    for (int s = 0; s < 20000; s++)
        drawdown_add(&drawdown, s * 1000, 50 * (s % 600) / 600.0);
    for (double width_ms = 1000; width_ms <= 64000; width_ms *= 4) {
        const struct drawdown_scale *scale = drawdown_at(&drawdown, width_ms);
        assert_true(scale->fall > 30 && scale->fall < 51);
        assert_in_range(scale->falls, 25, 35);
        assert_true(fabs((double)scale->cycle_ms - 600000) < 70000);
        assert_true(scale->cycle_spread < 0.15f);
    }
    assert_true(drawdown_at(&drawdown, 2400000)->fall < 15); /* longer than the teeth */
}

static void test_noise_shrinks(void **state)
{
    (void)state;
    struct drawdown drawdown = {0};
    uint64_t seed = 12;
    for (int s = 0; s < 40000; s++)
        drawdown_add(&drawdown, s * 1000, injected_gauss(&seed));
    double fine = (double)drawdown_at(&drawdown, 1000)->fall;
    double coarse = (double)drawdown_at(&drawdown, 256000)->fall;
    assert_true(fine > 4 && coarse < fine / 6);
}

static void test_what_only_rises_never_falls(void **state)
{
    (void)state;
    struct drawdown drawdown = {0};
    for (int s = 0; s < 5000; s++)
        drawdown_add(&drawdown, s * 1000, s);
    for (int i = 0; i < DRAWDOWN_SCALES; i++)
        assert_true(drawdown.scale[i].fall == 0 && drawdown.scale[i].falls == 0);
}

static void test_a_large_fall_dwarfs_the_small_ones(void **state)
{
    (void)state;
    struct drawdown drawdown = {0};
    uint64_t seed = 13;
    for (int s = 0; s < 4000; s++)
        drawdown_add(&drawdown, s * 1000, (s < 3000 ? 1000 : 0) + injected_gauss(&seed));
    const struct drawdown_scale *scale = drawdown_at(&drawdown, 4000);
    assert_int_equal(scale->falls, 1);
    assert_true(fabs((double)scale->last_fall_ms - 3000000) < 10000);
    assert_true(scale->top > 990 && scale->bottom < 10);
}

static void test_a_fall_is_forgotten(void **state)
{
    (void)state;
    struct drawdown drawdown = {0};
    for (int s = 0; s < 4000; s++)
        drawdown_add(&drawdown, s * 1000, s < 500 ? 1000 : 0);
    double fall = (double)drawdown.scale[0].fall;
    assert_true(fall < 1000 * exp(-0.69 * 3000 / DRAWDOWN_HALF_LIFE) && fall > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_teeth),
        cmocka_unit_test(test_noise_shrinks),
        cmocka_unit_test(test_what_only_rises_never_falls),
        cmocka_unit_test(test_a_large_fall_dwarfs_the_small_ones),
        cmocka_unit_test(test_a_fall_is_forgotten),
    };
    return cmocka_run_group_tests_name("drawdown", tests, NULL, NULL);
}
