/*
 * calltrace_layout: the inside of a calltrace_storage, shared by the signal part (calltrace_put.c)
 * and the drain part (calltrace.c), and by nobody else.
 *
 *   table      level 0   [ key | trace ] x  65 536       one mmap a level, untouched until used;
 *              level 1   [ key | trace ] x  65 536       level n is as large as all before it
 *              level 2   [ key | trace ] x 131 072       together: the table doubles
 *                                  |
 *   arena      ... struct trace <--+ next -> struct trace -> ...      every stack, newest first
 *
 * A stack belongs into the first free entry of its window of CALLTRACE_WINDOW entries in level 0,
 * or, when that window is full of others, of its window in level 1, and so on. Entries are never
 * taken back, so "the window is full of others" once true stays true: two threads with the same
 * stack come to the same entry without a lock, and a growing table never has to move anything.
 */
#ifndef AGENT_CALLTRACE_CALLTRACE_LAYOUT_H
#define AGENT_CALLTRACE_CALLTRACE_LAYOUT_H

#include "agent/calltrace/calltrace.h"
#include "agent/mem/arena.h"

#include <stdalign.h>
#include <stdatomic.h>

#define CALLTRACE_TABLES     3
#define CALLTRACE_LEVELS_MAX 8   /* 65 536 x 2^7 entries: more than a bound of 1 GB pays for */
#define CALLTRACE_WINDOW     192 /* 3 KB in a row; the first one is full at a load of 77 % */
#define CALLTRACE_SLOT_TRIES 16
#define REFCOUNT_SLOT_BYTES  64
#define REFCOUNT_PAGE_SLOTS  64 /* slots of a 4 KB page */

struct trace {
    struct trace *next; /* in the table's list; fixed before the trace is on it */
    uint32_t id;
    int32_t depth;
    bool truncated;
    /* Won its entry. One that lost it to an equal trace stays on the list, and is passed over. */
    _Atomic bool published;
    struct frame frames[];
};
_Static_assert(offsetof(struct trace, frames) == 24, "head of a stored stack");

struct entry {
    _Atomic uint64_t key; /* 0: free */
    _Atomic(struct trace *) trace;
};
_Static_assert(sizeof(struct entry) == 16, "four entries a cache line");

struct level {
    struct entry *entries;
    size_t mask; /* entries - 1 */
};

struct table {
    /* Read by every put, written when the table grows. */
    struct level levels[CALLTRACE_LEVELS_MAX];
    _Atomic int level_count;
    uint32_t parity; /* lowest bit of this table's ids: the chunk's number, odd or even */
    struct arena *arena;
    /* Written when a stack is new. */
    alignas(64) _Atomic int64_t used; /* keys */
    _Atomic uint32_t last_number;
    _Atomic(struct trace *) newest;
};

struct refcount_slot {
    /* The table somebody is inside of; NULL: the slot is free. */
    alignas(REFCOUNT_SLOT_BYTES) _Atomic(struct table *) inside;
    /* Of puts through this slot, for the life of the storage. Only who has the slot writes them. */
    _Atomic int64_t stored_new, stored_seen, dropped_full;
};
_Static_assert(sizeof(struct refcount_slot) == REFCOUNT_SLOT_BYTES, "one cache line");
_Static_assert(REFCOUNT_SLOTS / REFCOUNT_PAGE_SLOTS == 128, "two words of pages_used");

struct calltrace_storage {
    _Atomic(struct table *) active;
    struct refcount_slot *slots;
    /* A bit per page of slots in which one was ever used: the drain reads no others, so that slots
     * that are not needed are not resident. */
    _Atomic uint64_t pages_used[2];
    _Atomic int64_t dropped_slots;
    /* Drain thread. */
    struct table tables[CALLTRACE_TABLES];
    struct table *standby;      /* rotated out, not collected yet; NULL: there is none */
    size_t entries_bound_bytes; /* of one table */
    bool shrunk;
};

#endif
