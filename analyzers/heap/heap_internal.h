/* heap_internal: what the files of the heap module share. */
#pragma once

#include "analyzers/heap/heap.h"
#include "floor/base/span.h"

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

/* Room for that many elements of size bytes; elements: the address of the pointer to them. False: no memory. */
bool heap_room(void *elements, uint32_t *capacity, uint64_t wanted, size_t size);
/* One more element, a copy of that; false: no memory. HEAP_ADD: to things, thing_count of which there are. */
bool heap_add(void *elements, uint32_t *count, uint32_t *capacity, const void *element,
              size_t size);
#define HEAP_ADD(of, things, thing, element)                                                       \
    heap_add(&(of)->things, &(of)->thing##_count, &(of)->thing##_capacity, element,                \
             sizeof *(of)->things)
bool heap_keep_name(struct heap *heap, uint64_t id, const uint8_t *text, size_t length);

/* Behind the k-th zero byte from at on: where the row after k rows begins. */
static inline const uint8_t *heap_skip_rows(const uint8_t *at, uint32_t k)
{
    while (k > 0) {
        uint64_t eight;
        __builtin_memcpy(&eight, at, sizeof eight);
        uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
        uint64_t zeros = ~(((eight & low) + low) | eight | low);
        uint32_t count = bit_count(zeros);
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

/* Bytes of a value of a type; 0: there is no such type. */
static inline int heap_type_bytes(uint8_t type, int id_size)
{
    static const uint8_t sizes[12] = {
        [4] = 1, [5] = 2, [6] = 4, [7] = 8, [8] = 1, [9] = 2, [10] = 4, [11] = 8};
    return type == TYPE_OBJECT ? id_size : type < sizeof sizes ? sizes[type] : 0;
}

/* What an array takes in the heap. */
static inline int64_t heap_array_bytes(int64_t base, int64_t element, int64_t length)
{
    if (element == 8)
        base = (base + 7) & ~INT64_C(7);
    return (base + element * length + 7) & ~INT64_C(7);
}

static inline uint64_t heap_bits(const _Atomic uint64_t *bits, uint32_t word)
{
    return atomic_load_explicit(bits + word, memory_order_relaxed);
}

/* The bits of so many nodes (64 at most) from first on. */
static inline uint64_t heap_bits_window(const _Atomic uint64_t *bits, uint32_t first,
                                        uint32_t count)
{
    unsigned shift = first % 64;
    uint64_t window = heap_bits(bits, first / 64) >> shift;
    if (shift != 0 && shift + count > 64)
        window |= heap_bits(bits, first / 64 + 1) << (64 - shift);
    return count == 64 ? window : window & ((UINT64_C(1) << count) - 1);
}

static inline bool heap_is_inner(const struct heap *heap, uint32_t node)
{
    return heap_bits(heap->inner, node / 64) >> (node % 64) & 1;
}

/* Ranks: the set bits before each 512, and how many there are in all. To be freed. */
uint32_t *heap_rank_make(const _Atomic uint64_t *bits, uint32_t nodes, uint32_t *count);

/* Set bits before the node's. */
static inline uint32_t heap_rank(const _Atomic uint64_t *bits, const uint32_t *rank, uint32_t node)
{
    uint32_t slot = rank[node / 512];
    for (uint32_t i = node / 512 * 8; i < node / 64; i++)
        slot += bit_count(heap_bits(bits, i));
    return slot + bit_count(heap_bits(bits, node / 64) & ((UINT64_C(1) << (node % 64)) - 1));
}

/* Number among the inner nodes; the node is one of them. */
static inline uint32_t heap_inner_slot(const struct heap *heap, uint32_t node)
{
    return heap_rank(heap->inner, heap->inner_rank, node);
}
