/* context: what a handler reads, at whatever instruction it interrupts the writer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/context/context.h"
#include "agent/mem/mem.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static int64_t context_bytes(void)
{
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    return snapshot.component[COMPONENT_THREAD_CONTEXTS].requested_bytes;
}

static void *nothing_before_first_use(void *unused)
{
    struct context_record record;
    (void)unused;
    assert_int_equal(context_read(&record), CONTEXT_NONE);
    nmtagent_context_clear();
    assert_int_equal(context_read(&record), CONTEXT_NONE);
    return NULL;
}

static void in_thread(void *(*body)(void *))
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void unused_threads_cost_nothing(void **state)
{
    (void)state;
    int64_t before = context_bytes();
    in_thread(nothing_before_first_use);
    assert_int_equal(context_bytes(), before);
}

static void set_and_clear(void **state)
{
    (void)state;
    struct context_record record;
    nmtagent_context_set(7, 8);
    nmtagent_context_set_tag(9, 99);
    nmtagent_context_set_tag(10, 1); /* out of range: ignored */
    nmtagent_context_set_tag(-1, 1);
    assert_int_equal(context_read(&record), CONTEXT_READ);
    assert_int_equal(record.span_id, 7);
    assert_int_equal(record.root_span_id, 8);
    assert_int_equal(record.tags[9], 99);
    assert_int_equal(record.tags[0], 0);
    nmtagent_context_clear();
    assert_int_equal(context_read(&record), CONTEXT_NONE);
    nmtagent_context_set_tag(0, 1);
    assert_int_equal(context_read(&record), CONTEXT_READ);
    assert_int_equal(record.span_id, 0);
    nmtagent_context_clear();
}

static void tags_keep_their_numbers(void **state)
{
    (void)state;
    assert_true(context_setup(NULL));
    assert_int_equal(context_tag_count(), 0);
    assert_int_equal(nmtagent_context_tag("route"), -1);
    assert_true(context_setup("route;tenant"));
    assert_int_equal(nmtagent_context_tag("route"), 0);
    assert_int_equal(nmtagent_context_tag("tenant"), 1);
    assert_int_equal(nmtagent_context_tag("ten"), -1);
    assert_int_equal(nmtagent_context_tag(NULL), -1);
    assert_true(context_setup("user;route"));
    assert_int_equal(nmtagent_context_tag("route"), 0);
    assert_int_equal(nmtagent_context_tag("user"), 2);
    assert_int_equal(context_tag_count(), 3);
    assert_string_equal(context_tag_name(2), "user");
    assert_null(context_tag_name(3));
    assert_null(context_tag_name(-1));
    assert_false(context_setup("a;b;c;d;e;f;g;h")); /* eleven with the three */
    assert_int_equal(context_tag_count(), 10);
}

static void values_are_numbered(void **state)
{
    (void)state;
    uint32_t one = nmtagent_context_value("one"), two = nmtagent_context_value("two");
    assert_int_not_equal(one, 0);
    assert_int_not_equal(two, 0);
    assert_int_not_equal(one, two);
    assert_int_equal(nmtagent_context_value("one"), one);
    assert_int_equal(dictionary_find(context_values(), "two", 3), two);
    assert_int_equal(nmtagent_context_value(NULL), 0);
}

/* --- threads ---------------------------------------------------------------------------------- */

#define THREADS 200
static pthread_barrier_t barrier;

static void *hold_a_record(void *unused)
{
    (void)unused;
    nmtagent_context_set(1, 2);
    pthread_barrier_wait(&barrier); /* all have one */
    pthread_barrier_wait(&barrier); /* and were counted */
    return NULL;
}

static void *end_as_java_threads_do(void *unused)
{
    struct context_record record;
    hold_a_record(unused);
    context_thread_ended();
    assert_int_equal(context_read(&record), CONTEXT_NONE);
    context_thread_ended();
    return NULL;
}

static void records_come_back(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        pthread_t threads[THREADS];
        void *(*body)(void *) = round % 2 == 0 ? hold_a_record : end_as_java_threads_do;
        pthread_barrier_init(&barrier, NULL, THREADS + 1);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, body, NULL), 0);
        pthread_barrier_wait(&barrier);
        int64_t bytes = context_bytes();
        assert_true(bytes >= THREADS * 64 && bytes <= (THREADS + 128) * 64);
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&barrier);
        assert_true(context_bytes() <= 2 * 4096);
    }
}

/* --- torn reads ------------------------------------------------------------------------------- */

static volatile sig_atomic_t reads, whole, torn, wrong;

static void read_in_handler(int signal_number)
{
    struct context_record record;
    (void)signal_number;
    reads++;
    switch (context_read(&record)) {
    case CONTEXT_READ:
        whole++;
        /* The writer keeps all fields equal but while it writes. */
        if (record.span_id != record.root_span_id)
            wrong++;
        break;
    case CONTEXT_TORN:
        torn++;
        break;
    case CONTEXT_NONE:
        wrong++;
        break;
    }
}

static void no_mixture_is_ever_read(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = read_in_handler, .sa_flags = SA_RESTART}, old;
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {0};
    nmtagent_context_set(1, 1);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    time_t end = time(NULL) + 2;
    for (uint64_t i = 1; time(NULL) < end;)
        for (int n = 0; n < 100000; n++, i++)
            nmtagent_context_set(i, i);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
    assert_true(reads > 100);
    assert_int_equal(reads, whole + torn);
    assert_int_equal(wrong, 0);
    /* The writer does nothing but write: some must have been met in the middle. */
    assert_true(torn > 0);
    nmtagent_context_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unused_threads_cost_nothing), cmocka_unit_test(set_and_clear),
        cmocka_unit_test(tags_keep_their_numbers),     cmocka_unit_test(values_are_numbered),
        cmocka_unit_test(records_come_back),           cmocka_unit_test(no_mixture_is_ever_read),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
