#include "agent/calltrace/calltrace.h"

#include "agent/mem/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ME            4711
#define BOUND         ((size_t)64 << 20)
#define MANY          70000 /* more than 75 % of the first level, and than all of it */
#define DEPTH_MAX     2048
#define ENTRIES_FIRST ((int64_t)CALLTRACE_CAPACITY_FIRST)

/* Stack number n: the number is its first frame, the rest follows from it. */
static int make_stack(int64_t n, struct frame *frames)
{
    int depth = 1 + (int)(n % 12);
    for (int i = 0; i < depth; i++)
        frames[i] = (struct frame){.value = (uintptr_t)(n * 4096 + i * 8), .bci = (int32_t)i};
    return depth;
}

static uint32_t put(struct calltrace_storage *storage, int64_t n)
{
    struct frame frames[12];
    int slot = calltrace_enter(storage, ME);
    assert_true(slot >= 0);
    uint32_t id = calltrace_put(storage, slot, frames, make_stack(n, frames), false);
    calltrace_leave(storage, slot);
    return id;
}

/* Checks each visited stack and remembers its id. */
struct seen {
    uint32_t id[MANY];
    int64_t visits;
};

static void see(void *context, const struct calltrace *trace)
{
    struct seen *seen = context;
    struct frame frames[12];
    int64_t n = (int64_t)(trace->frames[0].value / 4096);
    assert_in_range(n, 0, MANY - 1);
    assert_int_equal(trace->depth, make_stack(n, frames));
    assert_memory_equal(trace->frames, frames, (size_t)trace->depth * sizeof *frames);
    assert_false(trace->truncated);
    assert_int_equal(seen->id[n], 0); /* once */
    assert_true(trace->id > 0);
    seen->id[n] = trace->id;
    seen->visits++;
}

static struct calltrace_counts counts_of(const struct calltrace_storage *storage)
{
    struct calltrace_counts counts;
    calltrace_counts(storage, &counts);
    assert_int_equal(counts.offered, counts.stored_new + counts.stored_seen + counts.dropped_full +
                                         counts.dropped_slots);
    return counts;
}

static void see_one(void *context, const struct calltrace *trace)
{
    *(struct calltrace *)context = *trace;
}

static void test_stored_once(void **state)
{
    (void)state;
    struct calltrace_storage *storage = calltrace_create(BOUND);
    struct seen *seen = calloc(1, sizeof *seen);
    uint32_t first = put(storage, 7), second = put(storage, 8);
    assert_true(first > 0 && second > 0 && first != second);
    assert_int_equal(put(storage, 7), first);
    struct calltrace_counts counts = counts_of(storage);
    assert_int_equal(counts.offered, 3);
    assert_int_equal(counts.stored_new, 2);
    assert_int_equal(counts.stored_seen, 1);
    assert_int_equal(counts.used, 2);
    assert_int_equal(calltrace_look(storage, see, seen), 0); /* not rotated yet */
    calltrace_rotate(storage);
    struct calltrace last = {0};
    for (int i = 0; i < 2; i++) /* looking leaves them there */
        assert_int_equal(calltrace_look(storage, see_one, &last), 2);
    assert_true(last.id == first || last.id == second);
    assert_int_equal(calltrace_collect(storage, see, seen), 2);
    assert_int_equal(seen->id[7], first);
    assert_int_equal(seen->id[8], second);
    /* What was collected is gone. */
    assert_int_equal(counts_of(storage).used, 0);
    assert_int_equal(calltrace_collect(storage, see, seen), 0);
    calltrace_rotate(storage);
    assert_int_equal(calltrace_collect(storage, see, seen), 0);
    free(seen);
    calltrace_destroy(storage);
}

static void test_what_makes_two_stacks_two(void **state)
{
    (void)state;
    static struct frame frames[DEPTH_MAX];
    struct calltrace_storage *storage = calltrace_create(BOUND);
    for (int i = 0; i < DEPTH_MAX; i++)
        frames[i] = (struct frame){.value = 16u * (unsigned)i, .bci = i};
    int slot = calltrace_enter(storage, ME);
    uint32_t id[6];
    id[0] = calltrace_put(storage, slot, frames, DEPTH_MAX, false);
    id[1] = calltrace_put(storage, slot, frames, DEPTH_MAX, true);
    id[2] = calltrace_put(storage, slot, frames, DEPTH_MAX - 1, false);
    frames[DEPTH_MAX / 2].bci++;
    id[3] = calltrace_put(storage, slot, frames, DEPTH_MAX, false);
    frames[0].value ^= UINT64_C(1) << 63;
    id[4] = calltrace_put(storage, slot, frames, DEPTH_MAX, false);
    id[5] = calltrace_put(storage, slot, frames, 0, false);
    for (int i = 0; i < 6; i++) {
        assert_true(id[i] > 0);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(id[i], id[j]);
    }
    calltrace_leave(storage, slot);
    calltrace_rotate(storage);
    struct calltrace none;
    assert_int_equal(calltrace_collect(storage, see_one, &none), 6);
    calltrace_destroy(storage);
}

static void test_truncated_is_marked(void **state)
{
    (void)state;
    struct frame frame = {.value = 5};
    struct calltrace seen = {0};
    struct calltrace_storage *storage = calltrace_create(BOUND);
    int slot = calltrace_enter(storage, ME);
    uint32_t id = calltrace_put(storage, slot, &frame, 1, true);
    calltrace_leave(storage, slot);
    calltrace_rotate(storage);
    assert_int_equal(calltrace_collect(storage, see_one, &seen), 1);
    assert_true(seen.truncated);
    assert_int_equal(seen.id, id);
    assert_int_equal(seen.depth, 1);
    calltrace_destroy(storage);
}

/* Ids of a chunk and of the next do not meet, and peek shows the next one's without taking them. */
static void test_peek(void **state)
{
    (void)state;
    struct calltrace_storage *storage = calltrace_create(BOUND);
    struct seen *seen = calloc(1, sizeof *seen);
    uint32_t old = put(storage, 1);
    for (int chunk = 0; chunk < 7; chunk++) {
        calltrace_rotate(storage);
        uint32_t new = put(storage, 1);
        assert_int_not_equal(old, new);
        calltrace_rotate(storage); /* not collected: nothing happens */
        for (int twice = 0; twice < 2; twice++) {
            memset(seen, 0, sizeof *seen);
            assert_int_equal(calltrace_peek(storage, see, seen), 1);
            assert_int_equal(seen->id[1], new);
        }
        memset(seen, 0, sizeof *seen);
        assert_int_equal(calltrace_collect(storage, see, seen), 1);
        assert_int_equal(seen->id[1], old);
        old = new;
    }
    free(seen);
    calltrace_destroy(storage);
}

static void test_doubles_without_loss(void **state)
{
    (void)state;
    struct calltrace_storage *storage = calltrace_create(BOUND);
    struct seen *seen = calloc(1, sizeof *seen);
    uint32_t *id = calloc(MANY, sizeof *id);
    assert_int_equal(counts_of(storage).capacity, ENTRIES_FIRST);
    for (int64_t n = 0; n < MANY; n++) {
        if (n % 64 == 0)
            calltrace_refill(storage);
        id[n] = put(storage, n);
        assert_true(id[n] > 0);
    }
    struct calltrace_counts counts = counts_of(storage);
    assert_int_equal(counts.stored_new, MANY);
    assert_int_equal(counts.used, MANY);
    assert_int_equal(counts.dropped_full, 0);
    assert_int_equal(counts.capacity, 2 * ENTRIES_FIRST);
    for (int64_t n = 0; n < MANY; n++)
        assert_int_equal(put(storage, n), id[n]);
    calltrace_rotate(storage);
    assert_int_equal(calltrace_collect(storage, see, seen), MANY);
    assert_memory_equal(seen->id, id, MANY * sizeof *id);
    /* The table that was doubled stays so for one more quiet turn, then a burst is forgotten. */
    for (int turn = 0; turn < 6; turn++) {
        put(storage, turn);
        calltrace_rotate(storage);
        memset(seen, 0, sizeof *seen);
        assert_int_equal(calltrace_collect(storage, see, seen), 1);
    }
    assert_int_equal(counts_of(storage).capacity, ENTRIES_FIRST);
    free(id);
    free(seen);
    calltrace_destroy(storage);
}

/* Without anybody mapping ahead: what finds no room is counted, all else is there. */
static void test_drops_are_counted(void **state)
{
    (void)state;
    struct calltrace_storage *storage = calltrace_create(0);
    struct seen *seen = calloc(1, sizeof *seen);
    int64_t stored = 0;
    for (int64_t n = 0; n < MANY; n++)
        stored += put(storage, n) > 0;
    struct calltrace_counts counts = counts_of(storage);
    assert_in_range(stored, 100, MANY - 1);
    assert_int_equal(counts.stored_new, stored);
    assert_int_equal(counts.dropped_full, MANY - stored);
    calltrace_rotate(storage);
    assert_int_equal(calltrace_collect(storage, see, seen), stored);
    assert_true(put(storage, 1) > 0); /* the next table is clean */
    free(seen);
    calltrace_destroy(storage);
}

/* At the bound, with room for stacks: entries end at a load of three quarters and more. */
static void test_load_at_the_bound(void **state)
{
    (void)state;
    struct calltrace_storage *storage =
        calltrace_create(3 * (((size_t)1 << 20) + ((size_t)6 << 20)));
    struct frame frame = {.bci = 1};
    int64_t first_drop = 0, puts = 0;
    int slot = calltrace_enter(storage, ME);
    for (; first_drop == 0; puts++) {
        if (puts % 64 == 0)
            calltrace_refill(storage);
        frame.value = (uintptr_t)puts * 8;
        if (calltrace_put(storage, slot, &frame, 1, false) == 0)
            first_drop = puts;
    }
    calltrace_leave(storage, slot);
    assert_int_equal(counts_of(storage).capacity, ENTRIES_FIRST);
    print_message("first drop at %.1f %%\n", (double)first_drop * 100 / (double)ENTRIES_FIRST);
    assert_in_range(first_drop, ENTRIES_FIRST * 3 / 4, ENTRIES_FIRST);
    calltrace_destroy(storage);
}

static void see_nothing(void *context, const struct calltrace *trace)
{
    (void)context, (void)trace;
}

static void put_many(struct calltrace_storage *storage)
{
    for (int64_t n = 0; n < MANY; n++) {
        if (n % 64 == 0)
            calltrace_refill(storage);
        put(storage, n);
    }
}

static void test_shrinks(void **state)
{
    (void)state;
    struct calltrace_storage *storage = calltrace_create(BOUND);
    put_many(storage);
    assert_int_equal(counts_of(storage).capacity, 2 * ENTRIES_FIRST);
    calltrace_shrink(storage);
    calltrace_shrink(storage);
    for (int chunk = 0; chunk < 3; chunk++) { /* until it is that table's turn again */
        calltrace_rotate(storage);
        calltrace_collect(storage, see_nothing, NULL);
    }
    assert_int_equal(counts_of(storage).capacity, ENTRIES_FIRST);
    assert_int_equal(counts_of(storage).dropped_full, 0);
    put_many(storage);
    assert_int_equal(counts_of(storage).capacity, ENTRIES_FIRST);
    assert_true(counts_of(storage).dropped_full > 0);
    calltrace_destroy(storage);
}

static void test_slots_end(void **state)
{
    (void)state;
    struct calltrace_storage *storage = calltrace_create(BOUND);
    int slots[64], taken = 0;
    while (taken < 64 && (slots[taken] = calltrace_enter(storage, REFCOUNT_SLOTS - 1)) >= 0)
        taken++;
    assert_in_range(taken, 3, 63);
    for (int i = 0; i < taken; i++)
        for (int j = 0; j < i; j++)
            assert_int_not_equal(slots[i], slots[j]);
    assert_int_equal(counts_of(storage).dropped_slots, 1);
    assert_int_equal(counts_of(storage).offered, 1);
    calltrace_leave(storage, -1);
    int other = calltrace_enter(storage, 100000); /* others are not concerned */
    assert_true(other >= 0);
    calltrace_leave(storage, other);
    calltrace_leave(storage, slots[0]);
    slots[0] = calltrace_enter(storage, REFCOUNT_SLOTS - 1);
    assert_true(slots[0] >= 0);
    for (int i = 0; i < taken; i++)
        calltrace_leave(storage, slots[i]);
    calltrace_rotate(storage); /* nobody is inside: returns */
    calltrace_destroy(storage);
}

static void test_account(void **state)
{
    (void)state;
    static struct mem_snapshot before, with, after;
    mem_snapshot(&before);
    struct calltrace_storage *storage = calltrace_create(BOUND);
    put(storage, 1);
    calltrace_rotate(storage);
    mem_snapshot(&with);
    const struct component_usage *slots = &with.component[COMPONENT_REFCOUNT_SLOTS];
    assert_int_equal(slots->requested_bytes, component_documented_bytes(COMPONENT_REFCOUNT_SLOTS));
    assert_int_equal(slots->requested_bytes, 524288);
    assert_in_range(slots->resident_bytes, 1, 8192); /* what one thread needs */
    assert_in_range(with.component[COMPONENT_CALL_TRACE_STORAGE].requested_bytes, (uint64_t)3 << 20,
                    BOUND);
    assert_in_range(with.component[COMPONENT_CALL_TRACE_STORAGE].resident_bytes, 1, 65536);
    calltrace_destroy(storage);
    mem_snapshot(&after);
    assert_int_equal(after.total.requested_bytes, before.total.requested_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored_once),
        cmocka_unit_test(test_what_makes_two_stacks_two),
        cmocka_unit_test(test_truncated_is_marked),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_doubles_without_loss),
        cmocka_unit_test(test_drops_are_counted),
        cmocka_unit_test(test_load_at_the_bound),
        cmocka_unit_test(test_shrinks),
        cmocka_unit_test(test_slots_end),
        cmocka_unit_test(test_account),
    };
    return cmocka_run_group_tests_name("calltrace", tests, NULL, NULL);
}
