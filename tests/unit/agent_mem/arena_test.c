#include "agent/mem/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define OF COMPONENT_CALL_TRACE_STORAGE

static struct component_usage usage(void)
{
    struct mem_snapshot now;
    mem_snapshot(&now);
    return now.component[OF];
}

static struct mem_budget budget;

static struct arena *create(size_t bound_bytes)
{
    budget = (struct mem_budget){.bound_bytes = bound_bytes};
    return arena_create(OF, &budget);
}

/* NULL: full. */
static void *piece_of(struct arena *arena, size_t size)
{
    uint32_t reference = arena_alloc(arena, size);
    assert_true(reference < 1u << ARENA_REFERENCE_BITS);
    return reference == 0 ? NULL : arena_at(arena, reference);
}

static void handed_out_memory_is_zero_aligned_and_apart(void **state)
{
    (void)state;
    struct arena *arena = create(1 << 20);
    unsigned char *last = NULL;
    for (size_t size = 1; size < 200; size++) {
        unsigned char *piece = piece_of(arena, size);
        assert_int_equal((uintptr_t)piece % 8, 0);
        for (size_t at = 0; at < size; at++)
            assert_int_equal(piece[at], 0);
        memset(piece, 0xff, size);
        assert_true(last == NULL || piece >= last + size - 1);
        last = piece;
    }
    arena_destroy(arena);
    assert_int_equal(usage().reserved_bytes, 0);
}

static size_t fill(struct arena *arena, size_t size)
{
    size_t pieces = 0;
    while (arena_alloc(arena, size) != 0)
        pieces++;
    return pieces;
}

static void full_until_it_is_refilled(void **state)
{
    (void)state;
    struct arena *arena = create(64 << 20);
    size_t pieces = fill(arena, 1000);
    assert_int_equal(pieces, (ARENA_CHUNK_FIRST_BYTES - sizeof(struct arena_chunk)) / 1000);
    assert_int_equal(arena_used_bytes(arena), pieces * 1000);
    arena_refill(arena);
    assert_non_null(piece_of(arena, 1000));
    arena_destroy(arena);
}

static void refill_maps_one_chunk_ahead(void **state)
{
    (void)state;
    struct arena *arena = create(64 << 20);
    int64_t first_bytes = usage().reserved_bytes;
    assert_true(arena_refill(arena));
    assert_true(arena_refill(arena));
    assert_int_equal(usage().reserved_bytes, first_bytes + (4 << 20)); /* a sixteenth */
    fill(arena, 4096);
    assert_true(arena_refill(arena));
    assert_int_equal(usage().reserved_bytes, first_bytes + 2 * (4 << 20));
    arena_destroy(arena);
}

static void chunks_come_up_to_the_bound(void **state)
{
    (void)state;
    const size_t bound_bytes = 30 << 20;
    struct arena *arena = create(bound_bytes);
    size_t pieces = 0, more;
    bool room;
    do {
        room = arena_refill(arena);
        more = fill(arena, 4096);
        pieces += more;
    } while (more > 0);
    assert_false(room);
    assert_in_range(budget.mapped_bytes, bound_bytes - bound_bytes / 16, bound_bytes);
    assert_in_range(pieces * 4096, bound_bytes - bound_bytes / 16 - 20 * 4096, bound_bytes);
    assert_in_range(usage().reserved_bytes, budget.mapped_bytes, bound_bytes + 16384);
    arena_destroy(arena);
    assert_int_equal(budget.mapped_bytes, 0);
}

/* What one leaves the other may have; and each has its first chunk. */
static void a_budget_is_shared(void **state)
{
    (void)state;
    struct arena *first = create(4 << 20), *second = arena_create(OF, &budget);
    while (arena_refill(first))
        fill(first, 4096);
    assert_false(arena_refill(second));
    assert_int_equal(fill(second, 4096), ARENA_CHUNK_FIRST_BYTES / 4096 - 1);
    arena_reset(first);
    assert_true(arena_refill(second));
    assert_true(fill(second, 4096) > 0);
    void *block = mem_budget_map(&budget, OF, 1 << 20);
    assert_non_null(block);
    assert_null(mem_budget_map(&budget, OF, 4 << 20));
    mem_budget_unmap(&budget, OF, block, 1 << 20);
    arena_destroy(first);
    arena_destroy(second);
    assert_int_equal(budget.mapped_bytes, 0);
    assert_int_equal(usage().reserved_bytes, 0);
}

/* What handlers did not need is not resident. */
static void untouched_chunks_are_not_resident(void **state)
{
    (void)state;
    struct arena *arena = create(64 << 20);
    arena_alloc(arena, ARENA_CHUNK_FIRST_BYTES / 2);
    arena_refill(arena);
    struct component_usage now = usage();
    assert_true(now.reserved_bytes >= 3 * ARENA_CHUNK_FIRST_BYTES);
    assert_in_range(now.resident_bytes, 1, 4 * sysconf(_SC_PAGESIZE));
    arena_destroy(arena);
}

static void a_reset_gives_the_pages_back(void **state)
{
    (void)state;
    struct arena *arena = create(64 << 20);
    int64_t first_bytes = usage().reserved_bytes;
    for (int i = 0; i < 5000; i++) {
        char *piece = piece_of(arena, 100);
        assert_non_null(piece);
        memset(piece, 1, 100);
        arena_refill(arena);
    }
    assert_true(usage().resident_bytes > 400000);
    arena_reset(arena);
    assert_int_equal(arena_used_bytes(arena), 0);
    assert_int_equal(usage().reserved_bytes, first_bytes);
    assert_in_range(usage().resident_bytes, 1, 2 * sysconf(_SC_PAGESIZE));
    for (int i = 0; i < 2500; i++) {
        char *piece = piece_of(arena, 100);
        for (int at = 0; at < 100; at++)
            assert_int_equal(piece[at], 0);
    }
    arena_destroy(arena);
    arena_destroy(NULL);
    assert_int_equal(usage().reserved_bytes, 0);
}

/* Larger than what is left of a chunk, and than a first chunk. */
static void a_large_piece_lies_in_the_next_chunk(void **state)
{
    (void)state;
    struct arena *arena = create(64 << 20);
    assert_non_null(piece_of(arena, 100));
    assert_null(piece_of(arena, 300000));
    arena_refill(arena);
    assert_non_null(piece_of(arena, 300000));
    assert_null(piece_of(arena, ARENA_CHUNK_MAX_BYTES + 1));
    assert_null(piece_of(arena, SIZE_MAX));
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handed_out_memory_is_zero_aligned_and_apart),
        cmocka_unit_test(full_until_it_is_refilled),
        cmocka_unit_test(refill_maps_one_chunk_ahead),
        cmocka_unit_test(chunks_come_up_to_the_bound),
        cmocka_unit_test(a_budget_is_shared),
        cmocka_unit_test(untouched_chunks_are_not_resident),
        cmocka_unit_test(a_reset_gives_the_pages_back),
        cmocka_unit_test(a_large_piece_lies_in_the_next_chunk),
    };
    return cmocka_run_group_tests_name("agent/mem/arena", tests, NULL, NULL);
}
