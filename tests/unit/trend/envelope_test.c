/* Ways to climb, distinguished. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/window.h"

#include <math.h>

enum { POINTS = 40 };

static void measure(double (*curve)(int), struct envelope *envelope)
{
    double x[POINTS], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[i] = curve(i);
    }
    envelope_measure(x, y, POINTS, envelope);
}

static double line(int i)
{
    return i;
}
static double jump(int i)
{
    return i < 25 ? 0 : 100;
}
static double stairs(int i)
{
    return i / 8 * 10;
}
static double stopped(int i)
{
    return i < 20 ? i : 20;
}
static double teeth(int i)
{
    return i % 10 * 5;
}
static double leaking_teeth(int i)
{
    return i % 10 * 5 + i / 10 * 10;
}

static void test_line(void **state)
{
    (void)state;
    struct envelope envelope;
    measure(line, &envelope);
    assert_true(envelope.climb == 39 && envelope.fall == 0);
    assert_true(envelope.rises > 15);
    assert_true(envelope.pause_now <= 2 * envelope.longest_pause);
}

static void test_one_jump(void **state)
{
    (void)state;
    struct envelope envelope;
    measure(jump, &envelope);
    assert_true(envelope.rises == 1 && envelope.climb == 100);
    assert_true(envelope.largest_rise == 100 && fabs(envelope.largest_rise_x - 25) <= 1);
}

static void test_stairs(void **state)
{
    (void)state;
    struct envelope envelope;
    measure(stairs, &envelope);
    assert_true(fabs(envelope.rises - 4) < 0.01);
    assert_true(envelope.longest_pause == 8 && envelope.pause_now <= 8);
}

static void test_what_stopped(void **state)
{
    (void)state;
    struct envelope envelope;
    measure(stopped, &envelope);
    assert_true(envelope.pause_now > 2 * envelope.longest_pause);
}

static void test_teeth_gain_nothing_that_lasts(void **state)
{
    (void)state;
    struct envelope envelope;
    measure(teeth, &envelope);
    assert_true(envelope.fall == 45);
    /* only the last tooth, which may fall again */
    assert_true(envelope.climb == 45 && envelope.largest_rise_x >= 29);
    measure(leaking_teeth, &envelope);
    assert_true(envelope.climb == 75 && envelope.fall == 35);
}

static void test_too_few(void **state)
{
    (void)state;
    double x[2] = {0, 1}, y[2] = {0, 1};
    struct envelope envelope;
    envelope_measure(x, y, 2, &envelope);
    assert_true(envelope.climb == 0 && envelope.rises == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),    cmocka_unit_test(test_one_jump),
        cmocka_unit_test(test_stairs),  cmocka_unit_test(test_what_stopped),
        cmocka_unit_test(test_too_few), cmocka_unit_test(test_teeth_gain_nothing_that_lasts),
    };
    return cmocka_run_group_tests_name("envelope", tests, NULL, NULL);
}
