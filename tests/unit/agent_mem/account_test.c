/* The account with many threads, and in a forked child. */
#include "agent/mem/mem.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EACH 50
#define MANY 128 /* threads */

static struct mem_snapshot now(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot;
}

static void *allocate_some(void *kept)
{
    void **block = kept;
    for (int i = 0; i < EACH; i++)
        block[i] = mem_alloc(COMPONENT_METHOD_MAP, 100);
    return NULL;
}

static void an_ended_thread_leaves_its_counts(void **state)
{
    (void)state;
    int threads = MANY;
    void **block = calloc((size_t)threads * EACH, sizeof *block);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, allocate_some, &block[i * EACH]), 0);
        pthread_join(thread, NULL);
    }
    struct mem_snapshot after = now();
    assert_int_equal(after.component[COMPONENT_METHOD_MAP].requested_bytes, threads * EACH * 100);
    for (int i = 0; i < threads * EACH; i++)
        mem_free(block[i]); /* on another thread */
    after = now();
    assert_int_equal(after.component[COMPONENT_METHOD_MAP].requested_bytes, 0);
    assert_int_equal(after.component[COMPONENT_METHOD_MAP].reserved_bytes, 0);
    assert_int_equal(after.component[COMPONENT_METHOD_MAP].allocations, threads * EACH);
    assert_int_equal(after.component[COMPONENT_METHOD_MAP].frees, threads * EACH);
    free(block);
}

struct crowd {
    pthread_barrier_t all_there;
    pthread_key_t late;
};
static struct crowd crowd;

/* A destructor that runs late while the thread ends. */
static void free_late(void *block)
{
    static _Thread_local int rounds;
    if (++rounds < 3)
        pthread_setspecific(crowd.late, block);
    else
        mem_free(block);
}

static void *in_a_crowd(void *argument)
{
    (void)argument;
    pthread_setspecific(crowd.late, mem_alloc(COMPONENT_CONTROL, 10));
    pthread_barrier_wait(&crowd.all_there);
    for (int i = 0; i < 2000; i++)
        mem_free(mem_alloc(COMPONENT_THREADS, (size_t)i));
    pthread_barrier_wait(&crowd.all_there);
    return NULL;
}

static void many_threads_at_once(void **state)
{
    (void)state;
    enum { THREADS = MANY };
    pthread_t thread[THREADS];
    pthread_barrier_init(&crowd.all_there, NULL, THREADS);
    pthread_key_create(&crowd.late, free_late);
    struct mem_snapshot before = now();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, in_a_crowd, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    struct mem_snapshot after = now();
    assert_int_equal(after.component[COMPONENT_THREADS].allocations, THREADS * 2000);
    assert_int_equal(after.component[COMPONENT_THREADS].frees, THREADS * 2000);
    assert_int_equal(after.component[COMPONENT_THREADS].requested_bytes, 0);
    assert_int_equal(after.component[COMPONENT_THREADS].reserved_bytes, 0);
    assert_int_equal(after.component[COMPONENT_CONTROL].requested_bytes,
                     before.component[COMPONENT_CONTROL].requested_bytes);
    pthread_key_delete(crowd.late);
    pthread_barrier_destroy(&crowd.all_there);
}

/* One grows while the other shrinks: the peak is that of the two together. */
static void *shrink_and_grow(void *argument)
{
    void **block = argument;
    for (int i = 0; i < 1000; i++)
        mem_free(block[i]);
    pthread_barrier_wait(&crowd.all_there); /* now the other one grows */
    pthread_barrier_wait(&crowd.all_there);
    for (int i = 0; i < 1000; i++)
        block[i] = mem_alloc(COMPONENT_NATIVE_SYMBOLS, 1000);
    return NULL;
}

static void a_peak_of_two_threads(void **state)
{
    (void)state;
    static void *first[1000], *second[1000];
    pthread_t thread;
    pthread_barrier_init(&crowd.all_there, NULL, 2);
    for (int i = 0; i < 1000; i++)
        first[i] = mem_alloc(COMPONENT_NATIVE_SYMBOLS, 1000);
    pthread_create(&thread, NULL, shrink_and_grow, first);
    pthread_barrier_wait(&crowd.all_there);
    for (int i = 0; i < 1000; i++)
        second[i] = mem_alloc(COMPONENT_NATIVE_SYMBOLS, 1000);
    pthread_barrier_wait(&crowd.all_there);
    pthread_join(thread, NULL);
    /* All 2000 live now; without a snapshot at this moment. */
    for (int i = 0; i < 1000; i++) {
        mem_free(first[i]);
        mem_free(second[i]);
    }
    int64_t peak_bytes = now().component[COMPONENT_NATIVE_SYMBOLS].peak_bytes;
    int64_t true_bytes = 2000 * ((1000 + 18 + 8 + 15) / 16 * 16);
    assert_int_equal(peak_bytes, true_bytes);
    pthread_barrier_destroy(&crowd.all_there);
}

static _Atomic bool enough;
static void *busy(void *argument)
{
    (void)argument;
    while (!atomic_load(&enough))
        mem_free(mem_alloc(COMPONENT_JFR_WRITER, 64));
    return NULL;
}

static int in_the_child(int64_t requested_bytes)
{
    void *block[100];
    for (int i = 0; i < 100; i++)
        block[i] = mem_alloc(COMPONENT_CONTROL, 10);
    if (now().component[COMPONENT_CONTROL].requested_bytes != requested_bytes + 1000)
        return 1;
    for (int i = 0; i < 100; i++)
        mem_free(block[i]);
    void *map = mem_map(COMPONENT_CONTROL, 100000);
    mem_unmap(COMPONENT_CONTROL, map, 100000);
    return now().component[COMPONENT_CONTROL].requested_bytes == requested_bytes ? 0 : 2;
}

static void a_forked_child_goes_on(void **state)
{
    (void)state;
    pthread_t thread[2];
    int64_t requested_bytes = now().component[COMPONENT_CONTROL].requested_bytes;
    atomic_store(&enough, false);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, busy, NULL);
    int status[20];
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(in_the_child(requested_bytes));
        waitpid(child, &status[i], 0);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 20; i++) {
        assert_true(WIFEXITED(status[i]));
        assert_int_equal(WEXITSTATUS(status[i]), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ended_thread_leaves_its_counts),
        cmocka_unit_test(many_threads_at_once),
        cmocka_unit_test(a_peak_of_two_threads),
        cmocka_unit_test(a_forked_child_goes_on),
    };
    return cmocka_run_group_tests_name("agent/mem/account", tests, NULL, NULL);
}
