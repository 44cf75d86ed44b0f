#include "agent/buffer/wakeup.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MS   INT64_C(1000000)
#define HOUR (3600 * 1000 * MS)

static void test_some_events_ask(void **state)
{
    (void)state;
    struct wakeup wakeup = {0};
    for (int64_t number = 1; number < WAKEUP_EVENTS; number++)
        wakeup_count(&wakeup, number);
    assert_int_equal(atomic_load(&wakeup.state), WAKEUP_WAITING);
    wakeup_count(&wakeup, WAKEUP_EVENTS);
    assert_int_equal(atomic_load(&wakeup.state), WAKEUP_ASKED);
}

static void test_asked_comes_after_a_rest(void **state)
{
    (void)state;
    struct wakeup wakeup = {0};
    int64_t earliest_ns = clock_now_ns() + 20 * MS;
    wakeup_count(&wakeup, WAKEUP_EVENTS);
    assert_true(wakeup_wait(&wakeup, earliest_ns, clock_now_ns() + HOUR));
    assert_true(clock_now_ns() >= earliest_ns);
    assert_int_equal(atomic_load(&wakeup.state), WAKEUP_WAITING);
}

static void test_not_asked_comes_in_time(void **state)
{
    (void)state;
    struct wakeup wakeup = {0};
    int64_t latest_ns = clock_now_ns() + 20 * MS;
    assert_true(wakeup_wait(&wakeup, clock_now_ns(), latest_ns));
    assert_true(clock_now_ns() >= latest_ns);
}

static void *ask(void *wakeup)
{
    wakeup_count(wakeup, WAKEUP_EVENTS);
    return NULL;
}

static void *stop(void *wakeup)
{
    wakeup_stop(wakeup);
    return NULL;
}

/* Whether the other thread is first or this one: the wait ends long before its time. */
static void test_wakes_a_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct wakeup wakeup = {0};
        pthread_t other;
        bool stops = i % 2 == 1;
        assert_int_equal(pthread_create(&other, NULL, stops ? stop : ask, &wakeup), 0);
        assert_int_equal(wakeup_wait(&wakeup, clock_now_ns(), clock_now_ns() + HOUR), !stops);
        pthread_join(other, NULL);
    }
}

/* A stop ends a rest too. */
static void test_stopped_while_it_rests(void **state)
{
    (void)state;
    struct wakeup wakeup = {0};
    pthread_t other;
    wakeup_count(&wakeup, WAKEUP_EVENTS);
    assert_int_equal(pthread_create(&other, NULL, stop, &wakeup), 0);
    assert_false(wakeup_wait(&wakeup, clock_now_ns() + HOUR, clock_now_ns() + HOUR));
    pthread_join(other, NULL);
    assert_false(wakeup_wait(&wakeup, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some_events_ask),
        cmocka_unit_test(test_asked_comes_after_a_rest),
        cmocka_unit_test(test_not_asked_comes_in_time),
        cmocka_unit_test(test_wakes_a_thread),
        cmocka_unit_test(test_stopped_while_it_rests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
