/* timers: which kind is taken when the choice is ours. How they tick: threads_test. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/sampling/timers.h"
#include "tests/unit/skip.h"

#include <signal.h>
#include <time.h>

static int64_t tick_ns(void)
{
    struct timespec tick;
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    return (int64_t)tick.tv_sec * 1000000000 + tick.tv_nsec;
}

static enum timer_kind kind_for(int64_t interval_ns, enum timer_kind forced)
{
    struct timers timers;
    char error[128] = "";
    bool good = timers_open(&timers, forced, SIGPROF, interval_ns, NULL, error, sizeof error);
    enum timer_kind kind = good ? timers.kind : TIMER_NONE;
    timers_close(&timers);
    return kind;
}

static void the_tick_where_it_is_fine_enough(void **state)
{
    (void)state;
    signal(SIGPROF, SIG_IGN);
    assert_int_equal(kind_for(2 * tick_ns(), TIMER_NONE), TIMER_POSIX);
    assert_int_equal(kind_for(INT64_C(10000000000), TIMER_NONE), TIMER_POSIX);
    if (kind_for(1000000, TIMER_PERF) != TIMER_PERF)
        skip_because("refused: perf_event_open");
    assert_int_equal(kind_for(2 * tick_ns() - 1, TIMER_NONE), TIMER_PERF);
    assert_int_equal(kind_for(2 * tick_ns(), TIMER_PERF), TIMER_PERF);
    assert_int_equal(kind_for(100000, TIMER_POSIX), TIMER_POSIX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tick_where_it_is_fine_enough),
    };
    return cmocka_run_group_tests_name("agent_sampling/timers", tests, NULL, NULL);
}
