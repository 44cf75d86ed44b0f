/*
 * seen_methods: names copied when first sampled: what a Method * is called, resolved in the signal
 * handler.
 *
 * A method on a walked stack cannot be unloaded while the handler runs, so there and then its
 * class, name, signature and line table are copied into memory that was mapped ahead. The frame
 * that is stored holds the number of the entry, not the Method *: so frames of classes that are
 * unloaded by the time a chunk is written keep their names.
 *
 *     Method *   --index-->   entry { number, how to check that it is still this method }
 *                               |
 *                               +- texts, handed over: collected a few times a second
 *                                                      by who keeps names (method_map.h)
 *
 * Is it still this method? After unloading or redefinition the same address, and all that it points
 * to, may be another method of another name; classes that come and go in turn make the JVM reuse
 * whole patterns of addresses. A new method runs only after the JVM has announced its class
 * (seen_methods_class_loaded) or, where a class was redefined, which nothing announces, after a
 * safepoint (hotspot/safepoints.h): while a method is on a stack it is not freed, and it takes one
 * safepoint to free it and another one to let its successor run. So an entry that was compared,
 * names, signature and line table, since the last announcement and the last safepoint is right;
 * another one is compared again, and a difference makes a new entry with a new number. A JVM that
 * does not count its safepoints (-XX:-UsePerfData) is compared at each frame: it takes 1.1 us in
 * place of 26 ns with cold caches. Numbers are never used twice in a recording.
 *
 * Forgetting takes two turns, one a chunk:
 *
 *   turn n    entries that were not sampled for three chunks, belong to a class that was reported
 *             as unloaded, or were found to be another method by now, are taken out of the index:
 *             no handler finds it from now on. One that has just found it puts its stack in the
 *             chunk that has begun.
 *   turn n+1  that chunk has been written, with its names; whoever had found it has left. The entry
 *             is free, and `gone` gets its number.
 *
 * Bounded: what finds no room is SEEN_OVER_BUDGET, a frame that says so; it is counted. Memory is
 * mapped, and touched as methods come: some 40 KB for 300, and 64 KB of those found last.
 *
 * seen_methods_put: signal context, lock-free; between calltrace_enter and calltrace_leave, and the
 * frame belongs into a stack put there. class_loaded, class_unloaded: any thread but in a handler.
 * The others: drain thread (or setup).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct seen_methods;

enum {
    SEEN_UNKNOWN = 1,     /* its names could not be read */
    SEEN_OVER_BUDGET = 2, /* no room for it */
    SEEN_FIRST = 16,      /* the numbers of entries begin here */
};

#define SEEN_AGE_MAX 3 /* chunks; as METHOD_MAP_AGE_MAX */

/* bound_bytes: of entries and names together, as they are kept after the collection too (an
 * estimate from above, of 512 bytes and the texts a method). NULL when out of memory. Needs
 * `layout`. */
struct seen_methods *seen_methods_create(size_t bound_bytes);
/* The number for frame.value. */
uint64_t seen_methods_put(struct seen_methods *seen, uintptr_t method);
/* A hint that these come next (at most SEEN_FETCH_MAX): what a put of each needs is brought into the caches, for all
 * at the same time. */
#define SEEN_FETCH_MAX 32
void seen_methods_fetch(const struct seen_methods *seen, const uintptr_t *methods, int count);

/* A class was loaded or prepared: its methods may run from now on. */
void seen_methods_class_loaded(struct seen_methods *seen);
/* name: as the JVM's ClassUnload event has it ("pkg/Name", hidden: "pkg/Name+0x..."). NULL:
 * a JVM that does not report it; what it unloads goes by age. */
void seen_methods_class_unloaded(struct seen_methods *seen, const char *name);

/* Texts are NUL-terminated, as the JVM prints them (slashes; hidden: "pkg/Name/0x..."). */
struct seen_method {
    const char *class_name, *name, *signature;
    int32_t modifiers;
    const uint8_t *lines; /* compressed line number table as in ConstMethod; NULL: none */
    size_t lines_bytes;
    unsigned lines_lowest; /* for line_table_decode */
};
/* Each method once, before or while the first chunk with a frame of it is written: what a stack
 * that can be read by now holds has been visited by now or is visited here. The texts are valid
 * during the visit. Waits (microseconds) for handlers that are copying. */
typedef void seen_method_visit_fn(void *context, uint64_t number, const struct seen_method *method);
void seen_methods_collect(struct seen_methods *seen, seen_method_visit_fn *visit, void *context);

/* Once a chunk, after it has been written (calltrace_rotate, collect, then this). gone: will be in
 * no stack of a later chunk. */
typedef void seen_method_gone_fn(void *context, uint64_t number);
void seen_methods_turn(struct seen_methods *seen, seen_method_gone_fn *gone, void *context);

struct seen_methods_counts {
    int64_t methods;     /* entries now */
    int64_t seen;        /* entries ever */
    int64_t forgotten;   /* by age or unloading */
    int64_t reused;      /* an address that is another method now */
    int64_t compared;    /* frames whose names were read again to compare them */
    int64_t over_budget; /* frames without an entry for want of room */
    int64_t unreadable;  /* frames whose names could not be read */
    int64_t held_bytes;  /* of the bound */
};
/* Any thread. */
void seen_methods_counts(const struct seen_methods *seen, struct seen_methods_counts *counts);
void seen_methods_destroy(struct seen_methods *seen);
