#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/alloc/alloc_threads.h"
#include "agent/mem/mem.h"

static char envs[ALLOC_THREADS_MAX + 8];

static int64_t own_bytes(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.component[COMPONENT_ALLOC_PROFILE].requested_bytes;
}

static void bytes_are_counted_once(void **state)
{
    (void)state;
    struct alloc_threads *threads = alloc_threads_create();
    int32_t old = alloc_threads_add(threads, &envs[0], 7, 5000);
    int32_t new = alloc_threads_add(threads, &envs[1], 8, 0);
    alloc_threads_read(alloc_threads_at(threads, old), 5100);
    alloc_threads_read(alloc_threads_at(threads, old), 5050); /* from outside, a moment late */
    alloc_threads_read(alloc_threads_at(threads, old), -1);   /* it could not be read */
    assert_int_equal(alloc_threads_take(threads, old), 100);
    assert_int_equal(alloc_threads_take(threads, old), 0);
    alloc_threads_read(alloc_threads_at(threads, new), 10);
    assert_int_equal(alloc_threads_add(threads, &envs[1], 9, 77), new); /* known already */
    assert_int_equal(alloc_threads_take(threads, new), 10);
    alloc_threads_destroy(threads);
}

static void an_ended_thread_stays_until_it_is_taken(void **state)
{
    (void)state;
    struct alloc_threads *threads = alloc_threads_create();
    int32_t first = alloc_threads_add(threads, &envs[0], 7, 0);
    alloc_threads_ended(threads, first, 40);
    assert_int_equal(alloc_threads_find(threads, &envs[0]), -1);
    /* The next thread got the same JNIEnv. */
    int32_t second = alloc_threads_add(threads, &envs[0], 8, 0);
    assert_int_not_equal(second, first);
    assert_int_equal(alloc_threads_take(threads, first), 40);
    assert_int_equal(alloc_threads_take(threads, first), 0); /* its place is free */
    assert_int_equal(alloc_threads_add(threads, &envs[2], 9, 0), first);
    assert_int_equal(alloc_threads_find(threads, &envs[0]), second);
    alloc_threads_destroy(threads);
}

static void many_threads_are_bounded_and_counted(void **state)
{
    (void)state;
    int64_t before = own_bytes();
    struct alloc_threads *threads = alloc_threads_create();
    for (int i = 0; i < ALLOC_THREADS_MAX; i++)
        assert_int_equal(alloc_threads_add(threads, &envs[i], i + 1, 0), i);
    assert_int_equal(alloc_threads_refused(threads), 0);
    assert_int_equal(alloc_threads_add(threads, &envs[ALLOC_THREADS_MAX], 1, 0), -1);
    assert_int_equal(alloc_threads_refused(threads), 1);
    for (int i = 0; i < ALLOC_THREADS_MAX; i++) {
        assert_int_equal(alloc_threads_find(threads, &envs[i]), i);
        alloc_threads_ended(threads, i, 2);
        assert_int_equal(alloc_threads_take(threads, i), 2);
    }
    assert_true(alloc_threads_add(threads, &envs[0], 1, 0) >= 0);
    alloc_threads_destroy(threads);
    assert_int_equal(own_bytes(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_counted_once),
        cmocka_unit_test(an_ended_thread_stays_until_it_is_taken),
        cmocka_unit_test(many_threads_are_bounded_and_counted),
    };
    return cmocka_run_group_tests_name("alloc_threads", tests, NULL, NULL);
}
