/*
 * seen_methods_layout: what the signal part (seen_methods_put.c) and the drain part
 * (seen_methods.c) share.
 *
 *   index     level 0   64 buckets of 16    4 KB    [ tag 12 | entry + 1, 20 bits ] 32 bits a place
 *             level 1   256               16 KB    A method belongs into the first free place of
 *             level 2   1 024             64 KB    its bucket of level 0, or of level 1, ...: few
 *             level 3   4 096            256 KB    methods touch few pages.
 *             level 4   16 384             1 MB
 *
 *   entries   [ 64 bytes | 64 bytes | ... ]         taken from the front; free ones form a list
 *
 *   recent    64 KB     the number last found for each of 4 096 hashes: one cache line in place of
 *                       up to five buckets and the entry
 *
 *   handover  [ note, texts | note, texts | ... ]   two halves: handlers write into one; the other is
 *                                                   emptied when no handler writes there any more
 *
 * The life of an entry:
 *
 *   free -> filled (private) -> in the index with number 0, which is never used
 *        -> its note is in the list of notes -> number: from here on it is found
 *        -> collected -> out of the index -> a turn later free
 *
 * The note comes before the number: whoever stores the number in a stack leaves a note for the
 * drain to find first. Two handlers that sample a method at the same time make two entries of it; both
 * are right.
 *
 * Internal to agent/methods.
 */
#pragma once

#include "floor/base/fold_hash.h"
#include "agent/mem/handlers.h"
#include "floor/hotspot/method_reading.h"
#include "agent/methods/seen_methods.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEEN_LEVELS         5
#define SEEN_TOP_BUCKETS    64
#define SEEN_LEVEL_SHIFT    2
#define SEEN_PLACES         16 /* of a bucket: a cache line */
#define SEEN_TAG_SHIFT      20
#define SEEN_ENTRIES_MAX    65536 /* less than a third of all places */
#define SEEN_NOWHERE        UINT32_MAX
#define SEEN_NEVER          0 /* as `checked`: compare each time; nobody counts safepoints */
#define SEEN_DIFFERS        UINT64_MAX /* as `checked`: another method has its address now */
/* Beside its texts: an entry and its place, a method_map entry, cells in the dictionaries. */
#define SEEN_METHOD_BYTES   512
#define SEEN_LINES_FACTOR   4                 /* a step of a byte takes four in a line_table */
#define SEEN_HANDOVER_BYTES ((size_t)1 << 20) /* 4 000 methods between two collections */
#define SEEN_UNLOADED_BITS  (UINT32_C(1) << 18)
#define SEEN_RECENT         4096 /* a power of two */

struct seen_entry {
    uintptr_t method;
    uintptr_t identity;      /* method_reading_identity when it was met first */
    uint64_t hash;           /* of all that was read */
    _Atomic uint64_t number; /* 0: not to be found (yet) */
    _Atomic uint64_t
        checked;           /* the moment (announcements and safepoints) it was compared at last */
    _Atomic uint32_t met;  /* the chunk */
    _Atomic uint32_t next; /* free list: entry + 1 */
    uint32_t class_hash;
    uint32_t place; /* level << 24 | place in it; SEEN_NOWHERE */
    uint32_t held_bytes;
    uint32_t life; /* seen_life; the drain's */
};
_Static_assert(sizeof(struct seen_entry) == 64, "a cache line");

/* A number that was found at some moment, four in a cache line. proof is the hash of number, method,
 * identity and moment: who finds his own in it needs to look at nothing else. Written in two parts by any
 * handler; parts of two do not fit each other. */
struct seen_recent {
    _Atomic uint64_t number, proof; /* 0, 0: nothing */
};

enum seen_life { SEEN_FREE, SEEN_COLLECTED, SEEN_LEAVING };

/* What a handler found, on its way to the drain. */
struct seen_note {
    struct seen_note *next;
    uint64_t number;
    uint32_t entry;
    int32_t modifiers;
    uint32_t lines_bytes;
    uint16_t class_length, name_length, signature_length; /* without their NULs */
    char bytes[];                                         /* class, name, signature, lines */
};

struct seen_handover {
    char *bytes;
    _Atomic size_t used;
};

struct seen_methods {
    _Atomic uint64_t announced; /* classes, and turns */
    _Atomic uint32_t chunk;
    _Atomic int levels_used;
    _Atomic uint32_t *index[SEEN_LEVELS];
    struct seen_entry *entries;
    struct seen_recent *recent; /* by place hash */
    uint32_t capacity;
    int64_t bound_bytes;
    _Atomic uint64_t *unloaded; /* a bit per hash of a name */

    /* Written when a method is new. */
    alignas(64) struct handlers copying;
    _Atomic int handover_now;
    struct seen_handover handover[2];
    _Atomic(struct seen_note *) notes;
    _Atomic uint32_t entries_used; /* ever */
    _Atomic uint64_t free_list;    /* change << 32 | entry + 1 */
    _Atomic uint64_t last_number;
    _Atomic int64_t held_bytes;
    _Atomic int64_t seen, reused, compared, over_budget, unreadable;
    _Atomic bool any_unloaded;

    /* Drain thread. */
    _Atomic int64_t methods, forgotten;
};

static inline uint32_t seen_buckets(int level)
{
    return (uint32_t)SEEN_TOP_BUCKETS << (SEEN_LEVEL_SHIFT * level);
}

static inline uint64_t seen_place_hash(uintptr_t method)
{
    return fold_word(method);
}

static inline uint32_t seen_tag(uint64_t place_hash)
{
    return (uint32_t)(place_hash >> (64 - (32 - SEEN_TAG_SHIFT))) << SEEN_TAG_SHIFT;
}

static inline void seen_count(_Atomic int64_t *counter, int64_t by)
{
    /* Relaxed: a counter orders nothing. */
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}
