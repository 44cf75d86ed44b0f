/*
 * method_map_layout: the inside of a method_map, shared by method_map.c (learning, age) and
 * method_map_entries.c (the table, and its move to fresh dictionaries). Internal to agent/methods.
 * Drain thread.
 */
#pragma once

#include "agent/methods/method_map.h"
#include "agent/methods/native_symbols.h"

#include <stdbool.h>

/* The key of an entry. */
enum method_kind {
    METHOD_JAVA,     /* jmethodID */
    METHOD_SEEN,     /* number of seen_methods */
    METHOD_PC,       /* address: its function is the entry it stands for */
    METHOD_FUNCTION, /* start of a function */
    METHOD_LIBRARY,  /* start of a library: its functions without a name */
    METHOD_ERROR,    /* walk code */
};

/* The entry of all methods that cannot be named. */
enum shared {
    SHARED_VANISHED,
    SHARED_UNREADABLE,
    SHARED_OVER_BUDGET,
    SHARED_NOWHERE,
    SHARED_NO_MEMORY,
    SHARED_COUNT,
};

struct entry {
    struct entry *next; /* in its bucket */
    uintptr_t value;
    uint64_t chunk;           /* in which it was last asked for */
    struct entry *stands_for; /* NULL: itself */
    struct line_table *lines;
    struct method_info info;
    enum method_kind kind;
    bool gone;            /* METHOD_SEEN: its number is in no stack of a later chunk */
    uint32_t lines_chunk; /* METHOD_JAVA: in which its lines were asked for */
};
_Static_assert(sizeof(struct entry) <= 80, "the documented design takes 104 bytes a method");

struct method_map {
    jvmtiEnv *jvmti;
    struct seen_methods *seen; /* NULL: the engine has none */
    struct method_names names;
    bool cleanup;
    uint64_t chunk;
    uint32_t last_id;
    struct entry **buckets;
    uint32_t bucket_count, entry_count;
    uint32_t bounded_count, bound; /* entries but those of seen_methods, which has its own bound */
    struct entry *last;            /* of the last question: the next one is often the same */
    struct entry shared[SHARED_COUNT];
    struct native_symbols *symbols;
    uintptr_t *expected; /* addresses whose entries are there and know nothing yet; NULL: none */
    size_t expected_count;
    struct method_map_counts counts;
};

/* method_map_entries.c. NULL: there is none; no memory. */
struct entry *entry_find(const struct method_map *map, uintptr_t value, enum method_kind kind);
struct entry *entry_add(struct method_map *map, uintptr_t value, enum method_kind kind);
/* Out of its chain already. */
void entry_destroy(struct method_map *map, struct entry *entry);
/* On failure all stays as it is; longer chains are slower, not wrong. */
void entries_resize(struct method_map *map, uint32_t bucket_count);
