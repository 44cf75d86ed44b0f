/* heap_internal: what the files of the heap module share. */
#ifndef ANALYZERS_HEAP_HEAP_INTERNAL_H
#define ANALYZERS_HEAP_HEAP_INTERNAL_H

#include "analyzers/heap/heap.h"

/* The sentence of a scan that has to begin again, with what it learned. */
#define HEAP_AGAIN "again"

static const uint8_t HEAP_ARRAY_BASES[4] = {12, 16, 20, 24};

static inline void heap_lock(struct heap *heap)
{
    while (atomic_flag_test_and_set_explicit(&heap->lock, memory_order_acquire))
        ;
}

static inline void heap_unlock(struct heap *heap)
{
    atomic_flag_clear_explicit(&heap->lock, memory_order_release);
}

/* Room for that many elements of size bytes; false: no memory. */
bool heap_room(void **elements, uint32_t *capacity, uint64_t wanted, size_t size);
bool heap_keep_name(struct heap *heap, uint64_t id, const uint8_t *text, size_t length);

/* Behind the k-th zero byte from at on: where the row after k rows begins. */
static inline const uint8_t *heap_skip_rows(const uint8_t *at, uint32_t k)
{
    while (k > 0) {
        uint64_t eight;
        __builtin_memcpy(&eight, at, sizeof eight);
        uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
        uint64_t zeros = ~(((eight & low) + low) | eight | low);
        uint32_t count = (uint32_t)__builtin_popcountll(zeros);
        if (count < k) {
            k -= count;
            at += 8;
            continue;
        }
        while (--k > 0)
            zeros &= zeros - 1;
        return at + (unsigned)__builtin_ctzll(zeros) / 8 + 1; /* little endian */
    }
    return at;
}

/* What an array takes in the heap. */
static inline int64_t heap_array_bytes(int64_t base, int64_t element, int64_t length)
{
    if (element == 8)
        base = (base + 7) & ~INT64_C(7);
    return (base + element * length + 7) & ~INT64_C(7);
}

/* Number among the holding nodes; the node is one of them. */
static inline uint32_t heap_parent_slot(const struct heap *heap, uint32_t node)
{
    uint32_t slot = heap->parent_rank[node / 512];
    for (uint32_t i = node / 512 * 8; i < node / 64; i++)
        slot += (uint32_t)__builtin_popcountll(heap->holding[i]);
    return slot + (uint32_t)__builtin_popcountll(heap->holding[node / 64] &
                                                 ((UINT64_C(1) << (node % 64)) - 1));
}

static inline bool heap_is_holding(const struct heap *heap, uint32_t node)
{
    return heap->holding[node / 64] >> (node % 64) & 1;
}

#endif
