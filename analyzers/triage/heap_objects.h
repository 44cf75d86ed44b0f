/*
 * heap_objects: what fills a Java heap, by a histogram of the JVM or a table of MAT, and whether the
 * many objects of a class are the sign of a known cause (heap_suspects.def).
 *
 *   heap_objects {0} -> heap_objects_add for each row -> row, total_bytes, suspect
 *
 * Plain data, nothing is borrowed. Pure; any thread.
 */
#ifndef ANALYZERS_TRIAGE_HEAP_OBJECTS_H
#define ANALYZERS_TRIAGE_HEAP_OBJECTS_H

#include "analyzers/parse/span.h"

enum heap_suspect {
    HEAP_SUSPECT_NONE,
#define HEAP_SUSPECT(id, key, instances, patterns, what, advice) HEAP_SUSPECT_##id,
#include "analyzers/triage/heap_suspects.def"
#undef HEAP_SUSPECT
    HEAP_SUSPECT_COUNT,
};

struct heap_suspect_row {
    const char *key;
    int64_t instances;
    const char *patterns;
    const char *what;
    const char *advice;
};
const struct heap_suspect_row *heap_suspect_row(enum heap_suspect suspect);

struct heap_class {
    char name[128];
    int64_t instances; /* -1: not said */
    int64_t bytes;     /* -1: not said */
};

#define HEAP_OBJECTS_MAX 4
struct heap_objects {
    int64_t classes; /* rows added */
    int64_t total_bytes;
    int count;
    struct heap_class row[HEAP_OBJECTS_MAX]; /* most bytes first */
    /* The class with the most bytes of those that are suspect; NONE: no class is. */
    enum heap_suspect suspect;
    struct heap_class suspected;
};

/* instances, bytes: -1 when the table does not say. */
void heap_objects_add(struct heap_objects *objects, struct span name, int64_t instances,
                      int64_t bytes);

#endif
