#include "agent/calltrace/calltrace.h"

#include "agent/mem/mem.h"
#include "tests/unit/stacks.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ME    4711
#define BOUND ((size_t)64 << 20)
#define BOUND_DEFAULT                                                                              \
    (3 * ((size_t)64 << 20) / 8) /* of memory=64M, as control/recording.c has it */
#define MANY          70000      /* more than 75 % of the first level, and than all of it */
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
    assert_int_equal(counts.offered, counts.stored_new + counts.stored_seen +
                                         counts.dropped_budget + counts.dropped_late +
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

/* What was put in an earlier life of a table is not there any more. */
static void test_each_chunk_has_its_stacks(void **state)
{
    (void)state;
    struct calltrace_storage *storage = calltrace_create(BOUND);
    for (int chunk = 0; chunk < 3 * 3; chunk++) {
        struct calltrace last = {0};
        uint32_t id = put(storage, 7);
        assert_int_equal(put(storage, 7), id);
        calltrace_rotate(storage);
        assert_int_equal(calltrace_collect(storage, see_one, &last), 1);
        assert_int_equal(last.id, id);
    }
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
    assert_int_equal(counts.dropped_budget + counts.dropped_late, 0);
    assert_int_equal(counts.capacity, 2 * ENTRIES_FIRST);
    for (int64_t n = 0; n < MANY; n++)
        assert_int_equal(put(storage, n), id[n]);
    calltrace_rotate(storage);
    assert_int_equal(calltrace_collect(storage, see, seen), MANY);
    assert_memory_equal(seen->id, id, MANY * sizeof *id);
    /* A table at rest is small again. */
    for (int turn = 0; turn < 3; turn++) {
        assert_int_equal(counts_of(storage).capacity, ENTRIES_FIRST);
        put(storage, turn);
        calltrace_rotate(storage);
        memset(seen, 0, sizeof *seen);
        assert_int_equal(calltrace_collect(storage, see, seen), 1);
    }
    free(id);
    free(seen);
    calltrace_destroy(storage);
}

/* Beyond the budget, and without anybody mapping ahead: what finds no room is counted by its reason,
 * all else is there, and nothing is damaged. */
static void check_drops(size_t bound_bytes, bool refill)
{
    struct calltrace_storage *storage = calltrace_create(bound_bytes);
    struct seen *seen = calloc(1, sizeof *seen);
    uint32_t *id = calloc(MANY, sizeof *id);
    int64_t stored = 0;
    for (int64_t n = 0; n < MANY; n++) {
        if (refill && n % 64 == 0)
            calltrace_refill(storage);
        id[n] = put(storage, n);
        stored += id[n] > 0;
    }
    struct calltrace_counts counts = counts_of(storage);
    assert_in_range(stored, 100, MANY - 1);
    assert_int_equal(counts.stored_new, stored);
    assert_int_equal(counts.dropped_budget, refill ? MANY - stored : 0);
    assert_int_equal(counts.dropped_late, refill ? 0 : MANY - stored);
    for (int64_t n = 0; n < MANY; n++) /* what is there is found, what is not finds no room again */
        assert_int_equal(put(storage, n), id[n]);
    calltrace_rotate(storage);
    assert_true(put(storage, 1) > 0); /* the next table is clean, and has room of its own */
    assert_int_equal(calltrace_collect(storage, see, seen), stored);
    assert_memory_equal(seen->id, id, MANY * sizeof *id);
    free(id);
    free(seen);
    calltrace_destroy(storage);
}

static void test_drops_are_counted(void **state)
{
    (void)state;
    check_drops((size_t)4 << 20, true);
    check_drops(0, true);
    check_drops(BOUND, false);
}

/* --- at default options ------------------------------------------------------------------------ */

struct given {
    uint32_t id, number;
};

static int by_id(const void *a, const void *b)
{
    const struct given *first = a, *second = b;
    return first->id < second->id ? -1 : first->id > second->id;
}

struct expected {
    const struct frame *stacks;
    struct given *given; /* sorted by id */
    size_t count, visits;
};

static void see_given(void *context, const struct calltrace *trace)
{
    struct expected *expected = context;
    const struct given key = {.id = trace->id}, *given;
    given = bsearch(&key, expected->given, expected->count, sizeof key, by_id);
    assert_non_null(given);
    assert_int_equal(trace->depth, STACK_FRAMES);
    assert_memory_equal(trace->frames, expected->stacks + (size_t)given->number * STACK_FRAMES,
                        STACK_FRAMES * sizeof *trace->frames);
    expected->visits++;
}

static uint32_t put_made(struct calltrace_storage *storage, const struct frame *stack)
{
    int slot = calltrace_enter(storage, ME);
    uint32_t id = calltrace_put(storage, slot, stack, STACK_FRAMES, false);
    calltrace_leave(storage, slot);
    return id;
}

/* So many different stacks of 40 frames in the share of the default memory=, none lost. */
static void check_holds(void (*make)(uint64_t *, struct frame *), size_t count, int chunks)
{
    struct calltrace_storage *storage = calltrace_create(BOUND_DEFAULT);
    struct expected expected = {.stacks = stacks_make(make, count), .count = count};
    expected.given = calloc(count, sizeof *expected.given);
    if (expected.stacks == NULL || expected.given == NULL)
        abort();
    for (int chunk = 0; chunk < chunks; chunk++) {
        int64_t capacity = counts_of(storage).capacity;
        assert_int_equal(capacity, ENTRIES_FIRST);
        for (uint32_t n = 0; n < count; n++) {
            const struct frame *stack = expected.stacks + (size_t)n * STACK_FRAMES;
            if (n % 1000 == 0) /* 10 000 samples a second, ten refills */
                calltrace_refill(storage);
            uint32_t id = put_made(storage, stack);
            assert_int_not_equal(id, 0);
            expected.given[n] = (struct given){id, n};
        }
        struct calltrace_counts counts = counts_of(storage);
        assert_int_equal(counts.used, count);
        for (; capacity * 3 / 4 < (int64_t)count;
             capacity *= 2) /* doubled as the load passed 75 % */
            assert_true(counts.capacity > capacity);
        assert_int_equal(counts.dropped_budget + counts.dropped_late, 0);
        for (uint32_t n = 0; n < count; n += 7)
            assert_int_equal(put_made(storage, expected.stacks + (size_t)n * STACK_FRAMES),
                             expected.given[n].id);
        struct mem_snapshot now;
        mem_snapshot(&now);
        int64_t bytes = now.component[COMPONENT_CALL_TRACE_STORAGE].resident_bytes;
        print_message("%zu stacks: %.1f bytes each\n", count, (double)bytes / (double)count);
        assert_in_range(bytes, 1, BOUND_DEFAULT);
        qsort(expected.given, count, sizeof *expected.given, by_id);
        calltrace_rotate(storage);
        expected.visits = 0;
        assert_int_equal(calltrace_collect(storage, see_given, &expected), count);
        assert_int_equal(expected.visits, count);
    }
    free((void *)expected.stacks);
    free(expected.given);
    calltrace_destroy(storage);
}

static void test_holds_stacks_of_an_application(void **state)
{
    (void)state;
    check_holds(stack_application_make, 250000, 1);
}

static void test_holds_random_stacks(void **state)
{
    (void)state;
    check_holds(stack_random_make, 100000, 2); /* a table that has been used holds as much */
}

struct letters {
    const char *const *texts;
    int count;
};

static void see_letters(void *context, const struct calltrace *trace)
{
    const struct letters *letters = context;
    char text[16] = "";
    assert_in_range(trace->depth, 0, 8);
    for (int i = 0; i < trace->depth; i++)
        text[trace->depth - 1 - i] = (char)trace->frames[i].value;
    for (int i = 0; i < letters->count; i++) {
        if (strcmp(text, letters->texts[i]) == 0)
            return;
    }
    fail_msg("nobody put %s", text);
}

/* One that ends inside of another, goes on where another ends, leaves it at its first frame or its
 * last; in each order. */
static void test_shared_frames(void **state)
{
    (void)state;
    static const char *const STACKS[] = {"abcdef", "abc", "abcdefgh", "abcxyz", "abcxyw",
                                         "xbc",    "a",   "abcdeg",   "",       "abcdefg"};
    enum { COUNT = sizeof STACKS / sizeof *STACKS };
    for (int first = 0; first < COUNT; first++) {
        struct calltrace_storage *storage = calltrace_create(BOUND);
        struct frame frames[8];
        uint32_t id[COUNT][2];
        int slot = calltrace_enter(storage, ME);
        for (int turn = 0; turn < 2; turn++) {
            for (int i = 0; i < COUNT; i++) {
                int n = (first + (turn == 0 ? i : COUNT - i)) % COUNT;
                int depth = (int)strlen(STACKS[n]);
                for (int at = 0; at < depth; at++) /* outermost first */
                    frames[depth - 1 - at] = (struct frame){.value = (uintptr_t)STACKS[n][at]};
                for (int cut = 0; cut < 2; cut++) {
                    uint32_t now = calltrace_put(storage, slot, frames, depth, cut != 0);
                    assert_int_not_equal(now, 0);
                    if (turn == 0)
                        id[n][cut] = now;
                    assert_int_equal(id[n][cut], now);
                }
            }
        }
        calltrace_leave(storage, slot);
        calltrace_rotate(storage);
        assert_int_equal(counts_of(storage).stored_new, 2 * COUNT);
        struct letters letters = {.texts = STACKS, .count = COUNT};
        assert_int_equal(calltrace_collect(storage, see_letters, &letters), 2 * COUNT);
        calltrace_destroy(storage);
    }
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
    calltrace_rotate(storage);
    calltrace_collect(storage, see_nothing, NULL);
    put_many(storage);
    assert_int_equal(counts_of(storage).capacity, ENTRIES_FIRST);
    assert_true(counts_of(storage).dropped_budget > 0);
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
    assert_in_range(with.component[COMPONENT_CALL_TRACE_STORAGE].requested_bytes, (uint64_t)2 << 20,
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
        cmocka_unit_test(test_each_chunk_has_its_stacks),
        cmocka_unit_test(test_truncated_is_marked),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_doubles_without_loss),
        cmocka_unit_test(test_drops_are_counted),
        cmocka_unit_test(test_shared_frames),
        cmocka_unit_test(test_holds_stacks_of_an_application),
        cmocka_unit_test(test_holds_random_stacks),
        cmocka_unit_test(test_shrinks),
        cmocka_unit_test(test_slots_end),
        cmocka_unit_test(test_account),
    };
    return cmocka_run_group_tests_name("calltrace", tests, NULL, NULL);
}
