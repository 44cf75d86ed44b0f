/*
 * calltrace_layout: the inside of a calltrace_storage, shared by the signal part (calltrace_put.c)
 * and the drain part (calltrace.c) only.
 *
 * Stacks are a prefix tree whose unbranched parts are kept in one piece. A trace has the frames in
 * which it leaves another one, its parent, and nothing of what they share:
 *
 *     run main serve read parse        #1 = 5 own
 *               |     +--- skip        #3 = 4 of #1, 1 own
 *               +--- write copy        #2 = 3 of #1, 2 own
 *                     +--- (ends)      #4 = 4 of #2, 0 own
 *
 * A frame is 16 bytes, and stands in the arena once; traces name it in 4. The children of a trace
 * are found by an index: by parent, number of shared frames, and first own frame. So a put compares
 * its frames from the outermost on, and looks into the index where it leaves the trace it follows:
 * as often as the tree branches, and not at each frame.
 *
 *   index      [ tag | reference ] x 65 536, 131 072 ...     an mmap, untouched until used
 *                       |
 *   arena      ... struct trace <--+ next -> struct trace -> ...      every trace, newest first
 *
 * What is indexed belongs into the first free entry of its window of CALLTRACE_WINDOW entries, which
 * begins where its tag says. Entries are never taken back, so two threads with the same stack come
 * to the same entry without a lock.
 *
 * Most stacks were put not long ago: recent has the ids of those, and a put of one reads one cache line.
 *
 * An index doubles while handlers use it: the drain thread maps the next level, then goes through
 * the present one, marks free entries as closed, and copies the others. A handler that finds its
 * window full or closed goes on in the next level: where something belongs is decided by one
 * exchange of one entry, the handler's or the drain's. When all is copied the next level is the
 * present one, and the drain waits for those who are still in the old one.
 */
#pragma once

#include "agent/calltrace/calltrace.h"
#include "agent/mem/arena.h"

#include <stdalign.h>
#include <stdatomic.h>

#define CALLTRACE_TABLES          3
#define CALLTRACE_LEVELS_MAX      9  /* 65 536 x 2^8 traces: more than a bound of 1 GB pays for */
#define CALLTRACE_LINE            8  /* entries of a cache line; windows begin at one */
#define CALLTRACE_WINDOW          96 /* the first one is full at a load of 75 % */
#define CALLTRACE_FRAMES_CAPACITY 16384 /* of level 0 of the index of frames */
#define CALLTRACE_SLOT_TRIES      16
#define REFCOUNT_SLOT_BYTES       64
#define REFCOUNT_PAGE_SLOTS       64 /* slots of a 4 KB page */

/* Written before it is on the list; then only published changes. */
struct trace {
    uint32_t parent; /* 0: the root, which has no frames and is nowhere */
    uint32_t next;   /* in the table's list; 0: the last one */
    uint16_t shared; /* frames from the outermost on that are the parent's */
    uint16_t own;    /* and so many follow; 0: a stack that ends inside of another one */
    bool truncated;
    /* Won its entry. One that lost it to an equal trace stays on the list, and is passed over. */
    _Atomic bool published;
    uint32_t frames[]; /* outermost first: references of struct frame */
};
_Static_assert(offsetof(struct trace, frames) == 16, "head of a stored stack");
/* The lowest bit of an id is the table's parity. */
_Static_assert(ARENA_REFERENCE_BITS < 31, "an id is a reference, a bit, and not UINT32_MAX");

#define ENTRY_CLOSED (UINT64_C(1) << 32) /* no reference */

struct index_level {
    _Atomic uint64_t *entries; /* tag, reference; 0: free */
    size_t mask;               /* entries - 1 */
};

struct trace_index {
    /* Level n + 1 has twice the entries of level n. Mapped: level 0, the present one, and from half
     * full on the next one. Read by every put. */
    struct index_level levels[CALLTRACE_LEVELS_MAX];
    _Atomic int level;                /* the present one */
    _Atomic int level_count;          /* level + 1, or + 2: the next one may be used */
    alignas(64) _Atomic int64_t used; /* written when something is new */
};

/* A stack that was put before, four in a cache line: its id, and a proof, the hash of id, stack and life of the table.
 * Who finds his own proof in it has the id, and reads nothing of the tree. Written in two parts by any handler; parts
 * of two do not fit each other. */
struct recent_stack {
    _Atomic uint64_t id, proof; /* 0, 0: nothing */
};
#define CALLTRACE_RECENT 2048 /* a power of two */

struct table {
    struct trace_index traces, frames;
    struct arena *arena;
    uint64_t life;   /* no two tables have the same, nor has one after it was cleared */
    uint32_t parity; /* lowest bit of this table's ids: the chunk's number, odd or even */
    alignas(64) _Atomic uint32_t newest;
};

struct refcount_slot {
    /* The table that the holder of the slot is inside of; NULL: the slot is free. */
    alignas(REFCOUNT_SLOT_BYTES) _Atomic(struct table *) inside;
    /* Of puts through this slot, for the life of the storage. Only who has the slot writes them. */
    _Atomic int64_t stored_new, stored_seen, dropped_budget, dropped_late;
};
_Static_assert(sizeof(struct refcount_slot) == REFCOUNT_SLOT_BYTES, "one cache line");
_Static_assert(REFCOUNT_SLOTS / REFCOUNT_PAGE_SLOTS == 128, "two words of pages_used");

struct calltrace_storage {
    _Atomic(struct table *) active;
    struct refcount_slot *slots;
    struct recent_stack *recent; /* of all tables, by the stack's hash */
    /* A bit per page of slots in which one was ever used: the drain reads no others, so that slots
     * that are not needed are not resident. */
    _Atomic uint64_t pages_used[2];
    _Atomic int64_t dropped_slots;
    _Atomic bool exhausted; /* the budget had no room when the drain last asked */
    /* Drain thread. */
    struct table tables[CALLTRACE_TABLES];
    uint64_t lives;           /* of tables so far */
    struct table *standby;    /* rotated out, not collected yet; NULL: there is none */
    struct mem_budget budget; /* of all tables: levels and arenas */
    struct frame *unfolded;   /* CALLTRACE_DEPTH_MAX: the stack that is visited */
    bool shrunk;
};
