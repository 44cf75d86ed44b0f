#include "agent/mem/arena.h"

#include <sys/mman.h>

static struct arena_chunk *map_chunk(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = mem_map(arena->component, size);
    if (chunk == NULL)
        return NULL;
    chunk->size = size;
    atomic_init(&chunk->used, sizeof *chunk);
    atomic_init(&chunk->next, NULL);
    arena->mapped_bytes += size;
    return chunk;
}

struct arena *arena_create(enum component component, size_t bound_bytes)
{
    if (bound_bytes < ARENA_CHUNK_FIRST_BYTES)
        return NULL;
    struct arena *arena = mem_alloc(component, sizeof *arena);
    if (arena == NULL)
        return NULL;
    arena->component = component;
    arena->bound_bytes = bound_bytes;
    arena->first = map_chunk(arena, ARENA_CHUNK_FIRST_BYTES);
    if (arena->first == NULL) {
        mem_free(arena);
        return NULL;
    }
    atomic_store_explicit(&arena->current, arena->first, memory_order_release);
    return arena;
}

/* Twice the last one, and enough for wanted_bytes; 0 when the bound leaves less than a smallest
 * chunk. */
static size_t next_size(const struct arena *arena, const struct arena_chunk *last,
                        size_t wanted_bytes)
{
    size_t size = last->size * 2, left = 0;
    if (arena->bound_bytes > arena->mapped_bytes) /* not after it was halved */
        left = arena->bound_bytes - arena->mapped_bytes;
    if (size > ARENA_CHUNK_MAX_BYTES)
        size = ARENA_CHUNK_MAX_BYTES;
    while (size < wanted_bytes + sizeof *last)
        size *= 2;
    if (size > left)
        size = left / ARENA_CHUNK_FIRST_BYTES * ARENA_CHUNK_FIRST_BYTES;
    return size;
}

void arena_refill(struct arena *arena)
{
    struct arena_chunk *chunk = atomic_load_explicit(&arena->current, memory_order_acquire);
    size_t wanted = atomic_exchange_explicit(&arena->wanted_bytes, 0, memory_order_relaxed);
    size_t used = atomic_load_explicit(&chunk->used, memory_order_relaxed);
    if (atomic_load_explicit(&chunk->next, memory_order_relaxed) != NULL ||
        (used <= chunk->size / 2 && wanted == 0))
        return;
    size_t size = next_size(arena, chunk, wanted);
    struct arena_chunk *next = size == 0 ? NULL : map_chunk(arena, size);
    if (next != NULL)
        atomic_store_explicit(&chunk->next, next, memory_order_release);
}

static void unmap_chunks(struct arena *arena, struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *next = atomic_load_explicit(&chunk->next, memory_order_acquire);
        arena->mapped_bytes -= chunk->size;
        mem_unmap(arena->component, chunk, chunk->size);
        chunk = next;
    }
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *first = arena->first;
    size_t size = first->size;
    unmap_chunks(arena, atomic_load_explicit(&first->next, memory_order_acquire));
    /* The header's page goes too; it is written again. */
    madvise(first, size, MADV_DONTNEED);
    first->size = size;
    atomic_store_explicit(&first->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&arena->wanted_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&first->used, sizeof *first, memory_order_relaxed);
    atomic_store_explicit(&arena->current, first, memory_order_release);
}

void arena_halve(struct arena *arena)
{
    arena->bound_bytes /= 2;
}

size_t arena_used_bytes(const struct arena *arena)
{
    size_t bytes = 0;
    for (const struct arena_chunk *chunk = arena->first; chunk != NULL;
         chunk = atomic_load_explicit(&chunk->next, memory_order_acquire))
        bytes += atomic_load_explicit(&chunk->used, memory_order_relaxed) - sizeof *chunk;
    return bytes;
}

void arena_destroy(struct arena *arena)
{
    if (arena == NULL)
        return;
    unmap_chunks(arena, arena->first);
    mem_free(arena);
}
