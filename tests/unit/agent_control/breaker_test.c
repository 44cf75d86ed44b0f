/* breaker: each step at its threshold, one at a time, never back, and early when growth stays. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/control/breaker.h"

#include <string.h>

#define MB (INT64_C(1) << 20)

static const struct breaker_limits LIMITS = {.memory_bytes = 64 * MB,
                                             .warn_bytes = 500 * MB,
                                             .shed_bytes = 2048 * MB,
                                             .stop_bytes = 10240 * MB};

static struct breaker breaker;
static int64_t now_ms;

static int set_up(void **state)
{
    (void)state;
    now_ms = 1000000;
    breaker_init(&breaker, &LIMITS);
    return 0;
}

static bool judge(int64_t own_bytes, int64_t jvm_bytes)
{
    const struct breaker_input input = {
        .own_bytes = own_bytes, .jvm_bytes = jvm_bytes, .now_ms = now_ms += 1000};
    enum breaker_state before = breaker.state;
    bool changed = breaker_judge(&breaker, &input);
    assert_int_equal(changed, breaker.state != before);
    assert_true(breaker.state == before || breaker.state > before);
    assert_int_equal(breaker.reason[0] == '\0', breaker.state == BREAKER_NORMAL);
    return changed;
}

static void says(const char *words)
{
    if (strstr(breaker.reason, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, breaker.reason);
}

static void nothing_happens_below(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_false(judge(51 * MB, 500 * MB));
    assert_int_equal(breaker.state, BREAKER_NORMAL);
}

static void each_step_of_the_jvms_part(void **state)
{
    (void)state;
    assert_true(judge(0, 500 * MB + 1));
    assert_int_equal(breaker.state, BREAKER_WARNED);
    says("500.0 MB in the JVM, more than warn=500.0 MB");
    assert_false(judge(0, 2048 * MB));
    assert_true(judge(0, 2048 * MB + 1));
    assert_int_equal(breaker.state, BREAKER_SHEDDING);
    says("shed=2.0 GB");
    for (int i = 0; i < 100; i++) /* it does not grow any more: that was enough */
        assert_false(judge(0, 10240 * MB));
    assert_true(judge(0, 10240 * MB + 1));
    assert_int_equal(breaker.state, BREAKER_STOPPED);
    says("stop_at=10.0 GB");
    assert_false(judge(1000 * MB, 20480 * MB));
}

static void a_jump_takes_every_step(void **state)
{
    (void)state;
    assert_true(judge(0, 20480 * MB));
    assert_int_equal(breaker.state, BREAKER_WARNED);
    assert_true(judge(0, 20480 * MB));
    assert_int_equal(breaker.state, BREAKER_SHEDDING);
    assert_true(judge(0, 20480 * MB));
    assert_int_equal(breaker.state, BREAKER_STOPPED);
}

static void a_step_is_not_taken_back(void **state)
{
    (void)state;
    assert_true(judge(0, 501 * MB));
    for (int i = 0; i < 100; i++)
        assert_false(judge(0, 0));
    assert_int_equal(breaker.state, BREAKER_WARNED);
}

static void own_memory_has_time_to_go_down(void **state)
{
    (void)state;
    assert_true(judge(52 * MB, 0)); /* 80 % of 64 MB are 51.2 */
    assert_int_equal(breaker.state, BREAKER_WARNED);
    assert_false(judge(64 * MB, 0));
    assert_true(judge(64 * MB + 1, 0));
    assert_int_equal(breaker.state, BREAKER_SHEDDING);
    for (int i = 1; i < BREAKER_RELIEF_MS / 1000; i++)
        assert_false(judge(70 * MB, 0));
    assert_true(judge(70 * MB, 0));
    assert_int_equal(breaker.state, BREAKER_SILENT);
    says("still above memory=64.0 MB");
    for (int i = 1; i < BREAKER_RELIEF_MS / 1000; i++)
        assert_false(judge(70 * MB, 0));
    assert_true(judge(70 * MB, 0));
    assert_int_equal(breaker.state, BREAKER_STOPPED);
}

static void shedding_that_helps_is_all(void **state)
{
    (void)state;
    judge(65 * MB, 0);
    judge(65 * MB, 0);
    assert_int_equal(breaker.state, BREAKER_SHEDDING);
    for (int i = 0; i < 100; i++)
        assert_false(judge(63 * MB, 0));
}

static void without_limits_nothing_is_ever_done(void **state)
{
    (void)state;
    const struct breaker_limits none = {0};
    breaker_init(&breaker, &none);
    for (int i = 0; i < 1000; i++)
        assert_false(judge(INT64_MAX / 4, INT64_MAX / 4));
}

static void a_limit_that_is_left_out_is_skipped(void **state)
{
    (void)state;
    const struct breaker_limits only_stop = {.stop_bytes = MB};
    breaker_init(&breaker, &only_stop);
    judge(0, 2 * MB);
    judge(0, 2 * MB);
    judge(0, 2 * MB);
    assert_int_equal(breaker.state, BREAKER_STOPPED);
}

/* Seconds until it warns; -1: not within so many minutes. */
static int64_t warned_after(int64_t per_s, int quiet_minute, int minutes)
{
    int64_t began_ms = now_ms, bytes = 0;
    for (int s = 0; s < minutes * 60; s++) {
        bytes += s / 60 == quiet_minute ? 0 : per_s;
        if (judge(0, bytes))
            return (now_ms - began_ms) / 1000;
    }
    return -1;
}

static void steady_growth_warns_early(void **state)
{
    (void)state;
    /* 500 classes/s of 15 methods: 2 GB are four hours away, 500 MB one. */
    assert_in_range(warned_after(500 * 288, -1, 30), BREAKER_MINUTES * 60,
                    BREAKER_MINUTES * 60 + 2);
    assert_int_equal(breaker.state, BREAKER_WARNED);
    says("8.2 MB/min");
    says("shed=2.0 GB is 2");
}

static void who_grows_is_named(void **state)
{
    (void)state;
    int64_t bytes = 0;
    for (int s = 0; s < 600 && breaker.state == BREAKER_NORMAL; s++) {
        char family[200];
        memset(family, 'x', sizeof family - 1);
        family[sizeof family - 1] = '\0';
        memcpy(family, "com/acme/Rules$", 15);
        bytes += MB;
        const struct breaker_input input = {
            .jvm_bytes = bytes, .now_ms = now_ms += 1000, .family = family};
        breaker_judge(&breaker, &input);
    }
    says("mostly of com/acme/Rules$x");
    says("min away"); /* a long name cuts itself, not the sentence */
}

static void a_burst_and_slow_growth_do_not(void **state)
{
    (void)state;
    assert_int_equal(warned_after(500 * 288, 4, 6), -1); /* a start-up that pauses */
    set_up(NULL);
    assert_int_equal(warned_after(50 * 288, -1, 60), -1); /* 41 hours away */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_happens_below, set_up),
        cmocka_unit_test_setup(each_step_of_the_jvms_part, set_up),
        cmocka_unit_test_setup(a_jump_takes_every_step, set_up),
        cmocka_unit_test_setup(a_step_is_not_taken_back, set_up),
        cmocka_unit_test_setup(own_memory_has_time_to_go_down, set_up),
        cmocka_unit_test_setup(shedding_that_helps_is_all, set_up),
        cmocka_unit_test_setup(without_limits_nothing_is_ever_done, set_up),
        cmocka_unit_test_setup(a_limit_that_is_left_out_is_skipped, set_up),
        cmocka_unit_test_setup(steady_growth_warns_early, set_up),
        cmocka_unit_test_setup(who_grows_is_named, set_up),
        cmocka_unit_test_setup(a_burst_and_slow_growth_do_not, set_up),
    };
    return cmocka_run_group_tests_name("agent_control/breaker", tests, NULL, NULL);
}
