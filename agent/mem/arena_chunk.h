/*
 * arena_chunk: what arena.c (drain thread) and arena_put.c (signal handlers) share.
 *
 *   chunk    +--------+-------------- used ------------+------ never touched ------+
 *            | header | handed out, 8-byte aligned     |                           |
 *            +--------+--------------------------------+---------------------------+
 *
 * Internal to agent/mem.
 */
#ifndef AGENT_MEM_ARENA_CHUNK_H
#define AGENT_MEM_ARENA_CHUNK_H

#include "agent/mem/arena.h"

#include <stdatomic.h>

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
