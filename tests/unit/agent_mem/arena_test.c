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
    assert_true(now.consistent);
    return now.component[OF];
}

static void handed_out_memory_is_zero_aligned_and_apart(void **state)
{
    (void)state;
    struct arena *arena = arena_create(OF, 1 << 20);
    unsigned char *last = NULL;
    for (size_t size = 1; size < 200; size++) {
        unsigned char *piece = arena_alloc(arena, size);
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
    while (arena_alloc(arena, size) != NULL)
        pieces++;
    return pieces;
}

static void full_until_it_is_refilled(void **state)
{
    (void)state;
    struct arena *arena = arena_create(OF, 64 << 20);
    size_t pieces = fill(arena, 1000);
    assert_int_equal(pieces, (ARENA_CHUNK_FIRST_BYTES - 24) / 1000);
    assert_int_equal(arena_used_bytes(arena), pieces * 1000);
    arena_refill(arena);
    assert_non_null(arena_alloc(arena, 1000));
    arena_destroy(arena);
}

static void refill_maps_only_what_is_needed(void **state)
{
    (void)state;
    struct arena *arena = arena_create(OF, 64 << 20);
    int64_t first_bytes = usage().reserved_bytes;
    arena_refill(arena);
    assert_int_equal(usage().reserved_bytes, first_bytes);
    assert_non_null(arena_alloc(arena, ARENA_CHUNK_FIRST_BYTES / 2));
    arena_refill(arena);
    arena_refill(arena);
    assert_int_equal(usage().reserved_bytes, first_bytes + 2 * ARENA_CHUNK_FIRST_BYTES);
    arena_destroy(arena);
}

static void chunks_grow_up_to_the_bound(void **state)
{
    (void)state;
    const int64_t bound_bytes = 30 << 20;
    struct arena *arena = arena_create(OF, (size_t)bound_bytes);
    size_t pieces = 0, more;
    do {
        more = fill(arena, 4096);
        pieces += more;
        arena_refill(arena);
    } while (more > 0);
    struct component_usage full = usage();
    assert_in_range(full.reserved_bytes, bound_bytes - ARENA_CHUNK_FIRST_BYTES, bound_bytes + 4096);
    assert_in_range(pieces * 4096, bound_bytes - 12 * 4096, bound_bytes);
    arena_destroy(arena);
    assert_null(arena_create(OF, ARENA_CHUNK_FIRST_BYTES - 1));
}

/* What handlers did not need is not resident. */
static void untouched_chunks_are_not_resident(void **state)
{
    (void)state;
    struct arena *arena = arena_create(OF, 64 << 20);
    arena_alloc(arena, ARENA_CHUNK_FIRST_BYTES / 2);
    arena_refill(arena);
    struct component_usage now = usage();
    assert_true(now.reserved_bytes >= 3 * ARENA_CHUNK_FIRST_BYTES);
    assert_in_range(now.resident_bytes, 1, 3 * sysconf(_SC_PAGESIZE));
    arena_destroy(arena);
}

static void a_reset_gives_the_pages_back(void **state)
{
    (void)state;
    struct arena *arena = arena_create(OF, 64 << 20);
    int64_t first_bytes = usage().reserved_bytes;
    for (int i = 0; i < 5000; i++) {
        char *piece = arena_alloc(arena, 100);
        assert_non_null(piece);
        memset(piece, 1, 100);
        arena_refill(arena);
    }
    assert_true(usage().resident_bytes > 400000);
    arena_reset(arena);
    assert_int_equal(arena_used_bytes(arena), 0);
    assert_int_equal(usage().reserved_bytes, first_bytes);
    assert_in_range(usage().resident_bytes, 1, 2 * sysconf(_SC_PAGESIZE));
    for (int i = 0; i < 600; i++) {
        char *piece = arena_alloc(arena, 100);
        for (int at = 0; at < 100; at++)
            assert_int_equal(piece[at], 0);
    }
    arena_destroy(arena);
    arena_destroy(NULL);
    assert_int_equal(usage().reserved_bytes, 0);
}

/* A piece that finds no room makes the next chunk come, also from a chunk that is hardly used. */
static void a_large_piece_comes_with_the_next_chunk(void **state)
{
    (void)state;
    struct arena *arena = arena_create(OF, 64 << 20);
    assert_non_null(arena_alloc(arena, 100));
    assert_null(arena_alloc(arena, 300000));
    arena_refill(arena);
    assert_non_null(arena_alloc(arena, 300000));
    assert_null(arena_alloc(arena, ARENA_CHUNK_MAX_BYTES + 1));
    assert_null(arena_alloc(arena, SIZE_MAX));
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handed_out_memory_is_zero_aligned_and_apart),
        cmocka_unit_test(full_until_it_is_refilled),
        cmocka_unit_test(refill_maps_only_what_is_needed),
        cmocka_unit_test(chunks_grow_up_to_the_bound),
        cmocka_unit_test(untouched_chunks_are_not_resident),
        cmocka_unit_test(a_reset_gives_the_pages_back),
        cmocka_unit_test(a_large_piece_comes_with_the_next_chunk),
    };
    return cmocka_run_group_tests_name("agent/mem/arena", tests, NULL, NULL);
}
