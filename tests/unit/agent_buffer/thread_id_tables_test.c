#include "agent/buffer/thread_id_tables.h"

#include "agent/mem/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define TIDS 100000

static uint8_t reported[TIDS];

static void report(void *context, int tid)
{
    assert_in_range(tid, 1, TIDS - 1);
    reported[tid]++;
    ++*(int *)context;
}

static int collect(struct thread_id_tables *tables, int64_t *missed)
{
    const int *ids;
    int count = 0;
    memset(reported, 0, sizeof reported);
    size_t found = thread_id_tables_collect(tables, &ids, missed);
    for (size_t i = 0; i < found; i++)
        report(&count, ids[i]);
    return count;
}

static void test_each_once(void **state)
{
    (void)state;
    struct thread_id_tables *tables = thread_id_tables_create();
    int64_t missed = -1;
    assert_int_equal(collect(tables, &missed), 0);
    assert_int_equal(missed, 0);
    for (int i = 0; i < 5; i++)
        thread_id_tables_add(tables, 3, 4711);
    thread_id_tables_add(tables, 4, 4711); /* a neighbour's buffer */
    thread_id_tables_add(tables, 4, 4712);
    assert_int_equal(collect(tables, &missed), 2);
    assert_int_equal(reported[4711], 1);
    assert_int_equal(reported[4712], 1);
    thread_id_tables_destroy(tables);
    thread_id_tables_destroy(NULL);
}

/* Once more in the next chunk, for events that crossed over; then forgotten. */
static void test_two_chunks(void **state)
{
    (void)state;
    struct thread_id_tables *tables = thread_id_tables_create();
    int64_t missed;
    for (int chunk = 1; chunk < 10; chunk++) {
        thread_id_tables_add(tables, 0, chunk);
        assert_int_equal(collect(tables, &missed), chunk == 1 ? 1 : 2);
        assert_int_equal(reported[chunk], 1);
        assert_int_equal(reported[chunk - 1], chunk == 1 ? 0 : 1);
    }
    assert_int_equal(collect(tables, &missed), 1);
    assert_int_equal(collect(tables, &missed), 0);
    thread_id_tables_destroy(tables);
}

static void test_full(void **state)
{
    (void)state;
    struct thread_id_tables *tables = thread_id_tables_create();
    int64_t missed;
    for (int tid = 1; tid <= 300; tid++)
        thread_id_tables_add(tables, 15, tid * 16 + 15);
    thread_id_tables_add(tables, 15, 16 + 15); /* is there: takes no room */
    thread_id_tables_add(tables, 14, 99);      /* another table has room */
    assert_int_equal(collect(tables, &missed), 256 + 1);
    assert_int_equal(missed, 300 - 256);
    assert_int_equal(reported[99], 1);
    collect(tables, &missed);
    assert_int_equal(missed, 0);
    thread_id_tables_destroy(tables);
}

static void test_account(void **state)
{
    (void)state;
    static struct mem_snapshot before, with, after;
    mem_snapshot(&before);
    struct thread_id_tables *tables = thread_id_tables_create();
    mem_snapshot(&with);
    const struct component_usage *usage = &with.component[COMPONENT_THREAD_ID_TABLES];
    assert_int_equal(usage->requested_bytes, 32768);
    assert_int_equal(usage->requested_bytes,
                     component_documented_bytes(COMPONENT_THREAD_ID_TABLES));
    thread_id_tables_destroy(tables);
    mem_snapshot(&after);
    assert_int_equal(after.total.requested_bytes, before.total.requested_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once),
        cmocka_unit_test(test_two_chunks),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_account),
    };
    return cmocka_run_group_tests_name("thread_id_tables", tests, NULL, NULL);
}
