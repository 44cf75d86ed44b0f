/* The account with many threads: stripes taken, borrowed, given back, and a forked child. */
#include "agent/mem/account.h"
#include "agent/mem/mem.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EACH 50

static struct mem_snapshot now_whole(void)
{
    struct mem_snapshot now;
    mem_snapshot(&now);
    assert_true(now.consistent);
    return now;
}

static void *allocate_some(void *kept)
{
    void **block = kept;
    for (int i = 0; i < EACH; i++)
        block[i] = mem_alloc(COMPONENT_METHOD_MAP, 100);
    return NULL;
}

/* More threads one after the other than there are stripes: each gives its own back. */
static void an_ended_thread_leaves_its_counts(void **state)
{
    (void)state;
    int threads = 3 * STRIPES;
    void **block = calloc((size_t)threads * EACH, sizeof *block);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, allocate_some, &block[i * EACH]), 0);
        pthread_join(thread, NULL);
    }
    struct mem_snapshot now = now_whole();
    assert_int_equal(now.component[COMPONENT_METHOD_MAP].requested_bytes, threads * EACH * 100);
    assert_in_range(atomic_load(&account_get()->stripes_used), 1, 4);
    for (int i = 0; i < threads * EACH; i++)
        mem_free(block[i]); /* on another thread */
    now = now_whole();
    assert_int_equal(now.component[COMPONENT_METHOD_MAP].requested_bytes, 0);
    assert_int_equal(now.component[COMPONENT_METHOD_MAP].reserved_bytes, 0);
    assert_int_equal(now.component[COMPONENT_METHOD_MAP].allocations, threads * EACH);
    assert_int_equal(now.component[COMPONENT_METHOD_MAP].frees, threads * EACH);
    free(block);
}

struct crowd {
    pthread_barrier_t all_there;
    pthread_key_t late;
};
static struct crowd crowd;

/* A destructor that runs after the stripe was given back. */
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

static void more_threads_than_stripes(void **state)
{
    (void)state;
    enum { THREADS = 2 * STRIPES };
    pthread_t thread[THREADS];
    pthread_barrier_init(&crowd.all_there, NULL, THREADS);
    pthread_key_create(&crowd.late, free_late);
    struct mem_snapshot before = now_whole();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, in_a_crowd, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    struct mem_snapshot now = now_whole();
    assert_int_equal(now.component[COMPONENT_THREADS].allocations, THREADS * 2000);
    assert_int_equal(now.component[COMPONENT_THREADS].frees, THREADS * 2000);
    assert_int_equal(now.component[COMPONENT_THREADS].requested_bytes, 0);
    assert_int_equal(now.component[COMPONENT_THREADS].reserved_bytes, 0);
    assert_int_equal(now.component[COMPONENT_CONTROL].requested_bytes,
                     before.component[COMPONENT_CONTROL].requested_bytes);
    for (int i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &account_get()->stripe[i];
        assert_int_equal(atomic_load(&stripe->taken), stripe == account_own_stripe);
    }
    pthread_key_delete(crowd.late);
    pthread_barrier_destroy(&crowd.all_there);
}

/* One grows while the other shrinks: the peak of the two together stays within its error. */
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
    int64_t peak_bytes = now_whole().component[COMPONENT_NATIVE_SYMBOLS].peak_bytes;
    int64_t true_bytes = 2000 * ((1000 + 18 + 8 + 15) / 16 * 16);
    assert_in_range(peak_bytes, true_bytes - 2 * PEAK_STEP_BYTES, true_bytes);
    pthread_barrier_destroy(&crowd.all_there);
}

static _Atomic bool enough;
static _Atomic bool has_begun;

static void *takes_stripes(void *argument)
{
    (void)argument;
    mem_free(mem_alloc(COMPONENT_THREADS, 1));
    atomic_store(&has_begun, true);
    pthread_barrier_wait(&crowd.all_there);
    return NULL;
}

/* The level is set while threads take their stripes: none is left with the old one. */
static void every_stripe_has_the_level(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    for (int round = 0; round < 50; round++) {
        enum mem_level level = round % 2 == 0 ? MEM_DETAIL : MEM_SUMMARY;
        pthread_t thread[THREADS];
        pthread_barrier_init(&crowd.all_there, NULL, THREADS + 1);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, takes_stripes, NULL), 0);
        while (!atomic_load(&has_begun))
            ;
        mem_set_level(level);
        pthread_barrier_wait(&crowd.all_there);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        atomic_store(&has_begun, false);
        for (uint32_t i = 0; i < atomic_load(&account_get()->stripes_used); i++) {
            struct stripe *stripe = &account_get()->stripe[i];
            if (atomic_load(&stripe->tally[0].tag) != 0) /* was ever somebody's */
                assert_int_equal(atomic_load(&stripe->plain_below),
                                 level == MEM_DETAIL ? 0 : CALLOC_FROM_BYTES);
        }
        pthread_barrier_destroy(&crowd.all_there);
    }
    mem_set_level(MEM_SUMMARY);
    now_whole();
    for (size_t i = 0; i < sizeof account_no_stripe; i++)
        assert_int_equal(((const char *)&account_no_stripe)[i], 0); /* nobody counted there */
}

static void *busy(void *argument)
{
    (void)argument;
    while (!atomic_load(&enough))
        mem_free(mem_alloc(COMPONENT_JFR_WRITER, 64));
    return NULL;
}

static int in_the_child(int64_t requested_bytes)
{
    struct mem_snapshot now;
    void *block[100];
    for (int i = 0; i < 100; i++)
        block[i] = mem_alloc(COMPONENT_CONTROL, 10);
    mem_snapshot(&now);
    if (!now.consistent ||
        now.component[COMPONENT_CONTROL].requested_bytes != requested_bytes + 1000)
        return 1;
    for (int i = 0; i < 100; i++)
        mem_free(block[i]);
    void *map = mem_map(COMPONENT_CONTROL, 100000);
    mem_unmap(COMPONENT_CONTROL, map, 100000);
    mem_snapshot(&now);
    return now.component[COMPONENT_CONTROL].requested_bytes == requested_bytes ? 0 : 2;
}

static void a_forked_child_goes_on(void **state)
{
    (void)state;
    pthread_t thread[2];
    int64_t requested_bytes = now_whole().component[COMPONENT_CONTROL].requested_bytes;
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

/* The process is copied while another thread is between its two counts. */
static void a_child_copied_in_the_middle_of_a_count(void **state)
{
    (void)state;
    int status;
    struct stripe *stripe = &account_get()->stripe[STRIPES - 1]; /* nobody has it */
    atomic_store(&stripe->taken, 1);
    atomic_fetch_add(&stripe->all_reserved_bytes, 64);
    pid_t child = fork();
    if (child == 0) {
        struct mem_snapshot now;
        mem_snapshot(&now);
        _exit(now.consistent && atomic_load(&stripe->taken) == 0 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    atomic_fetch_sub(&stripe->all_reserved_bytes, 64);
    atomic_store(&stripe->taken, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The check can fail: a count that went wrong shows in every snapshot. */
static void a_lost_count_shows(void **state)
{
    (void)state;
    struct mem_snapshot now = now_whole();
    _Atomic int64_t *counter = &account_own_stripe->tally[COMPONENT_CONTROL].reserved_bytes;
    atomic_fetch_add(counter, 1);
    mem_snapshot(&now);
    assert_false(now.consistent);
    atomic_fetch_sub(counter, 1);
    now_whole();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ended_thread_leaves_its_counts),
        cmocka_unit_test(more_threads_than_stripes),
        cmocka_unit_test(a_peak_of_two_threads),
        cmocka_unit_test(every_stripe_has_the_level),
        cmocka_unit_test(a_forked_child_goes_on),
        cmocka_unit_test(a_child_copied_in_the_middle_of_a_count),
        cmocka_unit_test(a_lost_count_shows),
    };
    return cmocka_run_group_tests_name("agent/mem/account", tests, NULL, NULL);
}
