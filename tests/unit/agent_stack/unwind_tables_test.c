/* Unwind tables that walks went through are in the account, and given back. Without libunwind:
 * skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/mem/mem.h"
#include "agent/stack/native.h"

#include <dlfcn.h>
#include <search.h>
#include <stdlib.h>
#include <ucontext.h>

static struct frame frames[64];
static int depth;

/* Its callers are two functions of libc that no other walk of this program goes through. */
static int walk_when_compared(const void *a, const void *b)
{
    ucontext_t here;
    (void)a, (void)b;
    getcontext(&here);
    depth = native_walk(&here, frames, 64);
    return 0;
}

static void walk_in_qsort(void)
{
    int numbers[] = {1, 2};
    qsort(numbers, 2, sizeof *numbers, walk_when_compared);
}

static void walk_in_lfind(void)
{
    int numbers[] = {1, 2}, wanted = 1;
    size_t count = 2;
    lfind(&wanted, numbers, &count, sizeof *numbers, walk_when_compared);
}

static struct component_usage tables(void)
{
    struct mem_snapshot now;
    mem_snapshot(&now);
    return now.component[COMPONENT_UNWIND_TABLES];
}

static void what_was_walked_through_is_given_back(void **state)
{
    char error[200] = "";
    (void)state;
    if (!native_setup(error, sizeof error))
        fail_msg("%s", error); /* libunwind-dev: make setup */
    walk_in_qsort();
    assert_true(depth >= 4);
    unwind_tables_release(); /* libc's are known from now on */
    assert_true(tables().allocations >= 1);
    assert_int_equal(tables().resident_bytes, 0);

    walk_in_lfind();
    assert_true(depth >= 4);
    assert_true(tables().resident_bytes > 0); /* read again, and accounted for */
    assert_true(tables().peak_bytes > 0);
    unwind_tables_release();
    assert_int_equal(tables().resident_bytes, 0);
    int64_t listed = tables().allocations;

    walk_in_qsort(); /* walks as before */
    assert_true(depth >= 4);
    unwind_tables_release();
    assert_int_equal(tables().allocations, listed);
    assert_int_equal(tables().frees, 0);
}

/* Nobody walked: what others read stays. */
static void untouched_is_left_alone(void **state)
{
    struct dl_find_object object;
    (void)state;
    assert_int_equal(_dl_find_object((void *)qsort, &object), 0);
    assert_true(tables().allocations > 0); /* by the test before */
    unwind_tables_release();
    const volatile char *table = object.dlfo_eh_frame;
    (void)table[8192];
    int64_t resident_bytes = tables().resident_bytes;
    assert_true(resident_bytes > 0);
    unwind_tables_release();
    assert_int_equal(tables().resident_bytes, resident_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_walked_through_is_given_back),
        cmocka_unit_test(untouched_is_left_alone),
    };
    return cmocka_run_group_tests_name("agent_stack/unwind_tables", tests, NULL, NULL);
}
