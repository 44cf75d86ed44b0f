/*
 * arena: memory that is handed out in signal handlers and given back all at once.
 *
 * Chunks are mapped ahead of need by arena_refill, outside of signal context, and not touched before
 * they are used: what is not needed is not resident. A handler that finds no room gets 0 and counts
 * a drop. Chunks are a sixteenth of the budget, so that arenas which share one do not take from each
 * other what none of them uses.
 *
 * A piece has a 32-bit name, its reference: the chunk's number and the offset in it. Structures that
 * point at each other need half the bytes that way.
 *
 * arena_alloc, arena_at: signal-safe, lock-free, any thread. The others: drain thread only.
 */
#pragma once

#include "agent/mem/mem.h"

#include <stdatomic.h>

#define ARENA_CHUNK_FIRST_BYTES (256u << 10)
#define ARENA_CHUNK_MAX_BYTES   (8u << 20)
#define ARENA_CHUNKS_MAX        256 /* 2 GB */
/* References lie below this. */
#define ARENA_REFERENCE_BITS    28

/* What several parts may map together. Drain thread only. */
struct mem_budget {
    size_t bound_bytes, mapped_bytes;
};
/* mem_map within a budget. NULL also when it has no room. */
void *mem_budget_map(struct mem_budget *budget, enum component component, size_t size);
void mem_budget_unmap(struct mem_budget *budget, enum component component, void *block,
                      size_t size);

struct arena;

/* The first chunk is mapped whatever the budget says, and counted. NULL when out of memory. The
 * budget outlives the arena. */
struct arena *arena_create(enum component component, struct mem_budget *budget);
/* The reference of a piece: 8-byte aligned, zero. 0 when full. */
uint32_t arena_alloc(struct arena *arena, size_t size);
/* Has one chunk mapped ahead of the present one. False: the budget leaves no room for it. */
bool arena_refill(struct arena *arena);
/* Forgets everything; keeps the first chunk and has the kernel take its pages back. No handler may
 * be inside. */
void arena_reset(struct arena *arena);
void arena_destroy(struct arena *arena);

/*
 * What arena.c (drain thread) and arena_put.c (signal handlers) share.
 *
 *   chunk    +--------+-------------- used ------------+------ never touched ------+
 *            | header | handed out, 8-byte aligned     |                           |
 *            +--------+--------------------------------+---------------------------+
 *
 *   reference: | chunk's number (8 bits) | offset in the chunk / 8 (20 bits) |
 *
 * Internal to agent/mem.
 */
#define ARENA_OFFSET_BITS 20
_Static_assert(ARENA_CHUNK_MAX_BYTES / 8 == 1u << ARENA_OFFSET_BITS, "offsets of a chunk");
_Static_assert(ARENA_CHUNKS_MAX == 1u << (ARENA_REFERENCE_BITS - ARENA_OFFSET_BITS), "numbers");

struct arena_chunk {
    size_t size;                        /* with this header */
    _Atomic size_t used;                /* with this header */
    _Atomic(struct arena_chunk *) next; /* mapped ahead by arena_refill */
    uint32_t number;
};
_Static_assert(sizeof(struct arena_chunk) % 8 == 0, "what follows is 8-byte aligned");

struct arena {
    _Atomic(struct arena_chunk *) current;
    struct arena_chunk *first;
    enum component component;
    struct mem_budget *budget;
    /* By number. Filled before a chunk is next: who has a reference sees the chunk. */
    char *chunks[ARENA_CHUNKS_MAX];
};

/* The piece of a reference; any but 0. */
static inline void *arena_at(const struct arena *arena, uint32_t reference)
{
    return arena->chunks[reference >> ARENA_OFFSET_BITS] +
           (size_t)(reference & ((1u << ARENA_OFFSET_BITS) - 1)) * 8;
}
