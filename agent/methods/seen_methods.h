/*
 * seen_methods: names at first sight: what a Method * is called, resolved in the signal handler.
 *
 * A method on a walked stack cannot be unloaded while the handler runs, so there and then its
 * class, name, signature and line table are copied into memory that was mapped ahead. The frame
 * that is stored holds the number of the entry, not the Method *: so frames of classes that are
 * unloaded by the time a chunk is written keep their names.
 *
 *   Method *  --hash-->  entry { constMethod, constants, name index, number }  -->  texts
 *
 * An address may be used again for another method: constMethod, constants and the name index are
 * compared at each hit, and a difference makes a new entry with a new number. Numbers are never
 * used twice in a process.
 *
 * Bounded: entries that were not met for three chunks go (seen_methods_turn), those of a class the
 * JVM reports as unloaded go as soon as the chunk that may name them is written. What finds no room
 * is SEEN_OVER_BUDGET, a frame that says so; it is counted.
 *
 * seen_methods_put: signal context, lock-free. The others: drain thread (or setup).
 */
#ifndef AGENT_METHODS_SEEN_METHODS_H
#define AGENT_METHODS_SEEN_METHODS_H

#include "agent/methods/line_tables.h"
#include "agent/stack/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seen_methods;

enum {
    SEEN_UNKNOWN = 1,     /* its names could not be read */
    SEEN_OVER_BUDGET = 2, /* no room for it */
    SEEN_FIRST = 16,      /* the numbers of entries begin here */
};

/* bound_bytes: entries and texts together. NULL when out of memory. Needs `layout`. */
struct seen_methods *seen_methods_create(size_t bound_bytes);
/* The number for frame.value. */
uint64_t seen_methods_put(struct seen_methods *seen, uintptr_t method);

/* What is known of a number; texts are NUL-terminated, as the JVM has them (slashes; a hidden class
 * as its own name says), and live until the entry goes. */
struct seen_method {
    const char *class_name, *name, *signature;
    int32_t modifiers;
    const uint8_t *lines; /* compressed line number table as in ConstMethod; NULL: none */
    size_t lines_bytes;
};
/* False: no such number (any more). */
bool seen_methods_find(const struct seen_methods *seen, uint64_t number, struct seen_method *out);
/* A Method's line of a bytecode index by such a table; 0: none. */
int seen_method_line(const struct seen_method *method, int bci);

/* The ClassUnload extension event was sent for a class (any thread). */
void seen_methods_class_unloaded(struct seen_methods *seen);
/* Once a chunk, after it has been written and handlers that began before have left: forgets by
 * age, gives memory back. */
void seen_methods_turn(struct seen_methods *seen);

struct seen_methods_counts {
    int64_t methods;     /* entries now */
    int64_t seen;        /* entries ever */
    int64_t forgotten;   /* by age or unloading */
    int64_t reused;      /* an address that had become another method */
    int64_t over_budget; /* frames without an entry for want of room */
    int64_t unreadable;  /* frames whose names could not be read */
};
void seen_methods_counts(const struct seen_methods *seen, struct seen_methods_counts *counts);
void seen_methods_destroy(struct seen_methods *seen);

#endif
