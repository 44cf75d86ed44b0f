#include "agent/mem/arena.h"

#include <string.h>
#include <sys/mman.h>

#define BUDGET_SHARE 16 /* chunks of a budget */

void *mem_budget_map(struct mem_budget *budget, enum component component, size_t size)
{
    if (budget->mapped_bytes + size > budget->bound_bytes)
        return NULL;
    void *block = mem_map(component, size);
    if (block != NULL)
        budget->mapped_bytes += size;
    return block;
}

void mem_budget_unmap(struct mem_budget *budget, enum component component, void *block, size_t size)
{
    mem_unmap(component, block, size);
    budget->mapped_bytes -= size;
}

static struct arena_chunk *begin_chunk(struct arena *arena, struct arena_chunk *chunk, size_t size,
                                       uint32_t number)
{
    chunk->size = size;
    chunk->number = number;
    atomic_init(&chunk->used, sizeof *chunk);
    atomic_init(&chunk->next, NULL);
    arena->chunks[number] = (char *)chunk;
    return chunk;
}

struct arena *arena_create(enum component component, struct mem_budget *budget)
{
    struct arena *arena = mem_alloc(component, sizeof *arena);
    if (arena == NULL)
        return NULL;
    arena->component = component;
    arena->budget = budget;
    arena->first = mem_map(component, ARENA_CHUNK_FIRST_BYTES);
    if (arena->first == NULL) {
        mem_free(arena);
        return NULL;
    }
    budget->mapped_bytes += ARENA_CHUNK_FIRST_BYTES;
    begin_chunk(arena, arena->first, ARENA_CHUNK_FIRST_BYTES, 0);
    atomic_store_explicit(&arena->current, arena->first, memory_order_release);
    return arena;
}

static size_t chunk_bytes(const struct mem_budget *budget)
{
    size_t share = budget->bound_bytes / BUDGET_SHARE;
    if (share <= ARENA_CHUNK_FIRST_BYTES)
        return ARENA_CHUNK_FIRST_BYTES;
    return share < ARENA_CHUNK_MAX_BYTES ? share & ~(size_t)4095 : ARENA_CHUNK_MAX_BYTES;
}

bool arena_refill(struct arena *arena)
{
    struct arena_chunk *chunk = atomic_load_explicit(&arena->current, memory_order_acquire);
    if (atomic_load_explicit(&chunk->next, memory_order_relaxed) != NULL)
        return true;
    size_t size = chunk_bytes(arena->budget);
    struct arena_chunk *next = chunk->number + 1 < ARENA_CHUNKS_MAX
                                   ? mem_budget_map(arena->budget, arena->component, size)
                                   : NULL;
    if (next == NULL)
        return false;
    /* Release; partner: the acquire in arena_alloc. Forbidden: a header that is not filled. */
    atomic_store_explicit(&chunk->next, begin_chunk(arena, next, size, chunk->number + 1),
                          memory_order_release);
    return true;
}

static void unmap_chunks(struct arena *arena, struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *next = atomic_load_explicit(&chunk->next, memory_order_acquire);
        arena->chunks[chunk->number] = NULL;
        mem_budget_unmap(arena->budget, arena->component, chunk, chunk->size);
        chunk = next;
    }
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *first = arena->first;
    size_t used = atomic_load_explicit(&first->used, memory_order_relaxed);
    unmap_chunks(arena, atomic_load_explicit(&first->next, memory_order_acquire));
    /* The header's page goes too; it is written again. Refused for locked memory (mlockall in the
     * host). */
    if (madvise(first, first->size, MADV_DONTNEED) != 0)
        memset(first, 0, used);
    begin_chunk(arena, first, ARENA_CHUNK_FIRST_BYTES, 0);
    atomic_store_explicit(&arena->current, first, memory_order_release);
}

void arena_destroy(struct arena *arena)
{
    if (arena == NULL)
        return;
    unmap_chunks(arena, arena->first);
    mem_free(arena);
}
