/* Signal context: this file reaches no symbol outside of itself. */
#include "agent/mem/arena.h"

uint32_t arena_alloc(struct arena *arena, size_t size)
{
    if (size > ARENA_CHUNK_MAX_BYTES)
        return 0;
    size = (size + 7) & ~(size_t)7;
    /* Acquire pairs with arena_refill's release of next: the chunk's header is seen filled. */
    struct arena_chunk *chunk = atomic_load_explicit(&arena->current, memory_order_acquire);
    for (;;) {
        size_t used = atomic_load_explicit(&chunk->used, memory_order_relaxed);
        while (size <= chunk->size - used) {
            if (atomic_compare_exchange_weak_explicit(&chunk->used, &used, used + size,
                                                      memory_order_relaxed, memory_order_relaxed))
                return chunk->number << ARENA_OFFSET_BITS | (uint32_t)(used / 8);
        }
        struct arena_chunk *next = atomic_load_explicit(&chunk->next, memory_order_acquire);
        if (next == NULL || size > next->size - sizeof *next)
            return 0;
        /* The second thread finds it done; current never goes back, so a handler that was
         * interrupted here for long only takes a step again. */
        struct arena_chunk *expected = chunk;
        atomic_compare_exchange_strong_explicit(&arena->current, &expected, next,
                                                memory_order_acq_rel, memory_order_relaxed);
        chunk = next;
    }
}
