/*
 * arena: memory that is handed out in signal handlers and given back all at once.
 *
 * Chunks grow geometrically from 64 KB to 8 MB, each mapped and not touched before it is used: what
 * is not needed is not resident. The next chunk is mapped ahead of need by arena_refill, outside of
 * signal context; a handler that finds no room gets NULL and counts a drop.
 *
 * arena_alloc: signal-safe, lock-free, any thread. The others: drain thread only.
 */
#ifndef AGENT_MEM_ARENA_H
#define AGENT_MEM_ARENA_H

#include "agent/mem/mem.h"

#include <stdatomic.h>

#define ARENA_CHUNK_FIRST_BYTES (64u << 10)
#define ARENA_CHUNK_MAX_BYTES   (8u << 20)

struct arena;

/* bound_bytes: never map more than this in all. NULL when out of memory. */
struct arena *arena_create(enum component component, size_t bound_bytes);
/* 8-byte aligned, zero; NULL when full. What is larger than half of the first chunk may have to
 * wait until the chunks have grown. */
void *arena_alloc(struct arena *arena, size_t size);
/* Maps the next chunk when the present one is more than half used, or a handler found no room. */
void arena_refill(struct arena *arena);
/* Forgets everything; keeps the first chunk and has the kernel take its pages back. Nobody may
 * be inside. */
void arena_reset(struct arena *arena);
/* Half the bound. What is mapped already stays until the reset. */
void arena_halve(struct arena *arena);
size_t arena_used_bytes(const struct arena *arena);
void arena_destroy(struct arena *arena);

/*
 * What arena.c (drain thread) and arena_put.c (signal handlers) share.
 *
 *   chunk    +--------+-------------- used ------------+------ never touched ------+
 *            | header | handed out, 8-byte aligned     |                           |
 *            +--------+--------------------------------+---------------------------+
 *
 * Internal to agent/mem.
 */
struct arena_chunk {
    size_t size;                        /* with this header */
    _Atomic size_t used;                /* with this header */
    _Atomic(struct arena_chunk *) next; /* mapped ahead by arena_refill */
};
_Static_assert(sizeof(struct arena_chunk) % 8 == 0, "what follows is 8-byte aligned");

struct arena {
    _Atomic(struct arena_chunk *) current;
    struct arena_chunk *first;
    enum component component;
    _Atomic size_t wanted_bytes; /* what a handler found no room for, for arena_refill */
    size_t bound_bytes;
    size_t mapped_bytes;
};

#endif
