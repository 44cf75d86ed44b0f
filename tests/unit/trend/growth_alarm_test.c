/* One alarm an episode; a CUSUM that helps, and never rings alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyzers/trend/verdict.h"
#include "tests/unit/trend/injected.h"

static enum growth_alarm_change say(struct growth_alarm *alarm, enum verdict_answer answer,
                                    double level_mb)
{
    struct verdict verdict = {.answer = answer, .level_bytes = (int64_t)(level_mb * MB)};
    return growth_alarm_add(alarm, &verdict);
}

static void test_k_of_n(void **state)
{
    (void)state;
    struct growth_alarm alarm;
    growth_alarm_init(&alarm, 3, 5);
    static const int said[] = {1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    int raised_at = -1, cleared_at = -1;
    for (int i = 0; i < (int)(sizeof said / sizeof *said); i++) {
        /* the level stays: nothing for the CUSUM */
        enum growth_alarm_change change =
            say(&alarm, said[i] ? VERDICT_GROWING : VERDICT_NOT_GROWING, 50);
        if (change == GROWTH_ALARM_RAISED) {
            assert_int_equal(raised_at, -1);
            raised_at = i;
        }
        if (change == GROWTH_ALARM_CLEARED) {
            assert_int_equal(cleared_at, -1);
            cleared_at = i;
        }
    }
    assert_int_equal(raised_at, 8);
    assert_int_equal(cleared_at, 19);
    assert_false(alarm.active);
}

static void test_cusum_saves_the_waiting(void **state)
{
    (void)state;
    struct growth_alarm alarm;
    uint64_t seed = 31;
    growth_alarm_init(&alarm, 3, 5);
    for (int i = 0; i < 200; i++)
        assert_int_equal(say(&alarm, VERDICT_NOT_GROWING, 50 + 0.1 * injected_gauss(&seed)),
                         GROWTH_ALARM_NONE);
    for (int i = 0; i < 20; i++) /* climbs, but nobody is sure yet */
        assert_int_equal(say(&alarm, VERDICT_NOT_GROWING, 50 + 0.05 * i), GROWTH_ALARM_NONE);
    assert_int_equal(say(&alarm, VERDICT_GROWING, 51), GROWTH_ALARM_RAISED);
}

static void test_cusum_never_rings_alone(void **state)
{
    (void)state;
    struct growth_alarm alarm;
    growth_alarm_init(&alarm, 3, 5);
    for (int i = 0; i < 300; i++)
        assert_int_equal(say(&alarm, VERDICT_NOT_GROWING, i < 100 ? 50 : 90), GROWTH_ALARM_NONE);
    /* the new level has been learnt: one verdict is not enough again */
    assert_int_equal(say(&alarm, VERDICT_GROWING, 90), GROWTH_ALARM_NONE);
}

static void test_cusum_on_level_noise(void **state)
{
    (void)state;
    struct cusum cusum = {0};
    uint64_t seed = 32;
    int out = 0;
    for (int i = 0; i < 20000; i++)
        out += cusum_add(&cusum, 100 * MB + MB * injected_gauss(&seed), true);
    assert_in_range(out, 0, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_k_of_n),
        cmocka_unit_test(test_cusum_saves_the_waiting),
        cmocka_unit_test(test_cusum_never_rings_alone),
        cmocka_unit_test(test_cusum_on_level_noise),
    };
    return cmocka_run_group_tests_name("growth_alarm", tests, NULL, NULL);
}
