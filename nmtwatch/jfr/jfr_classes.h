/*
 * jfr_classes: a recording's class definitions summed up: by family of names, and by whose code
 * defines them (analyzers/classes/family.h).
 *
 *   jfr_classes_read -> use, jfr_classes_print, _json -> jfr_classes_free
 *
 * Counts of families are exact; which code defines them is known from the stacks that were taken,
 * each of which stands for the classes of its family since the one before. Bounded: families, ways
 * of each; what is beyond is counted with the last one. A recording that is damaged is summed up to
 * the damage, and says so. One thread.
 */
#ifndef NMTWATCH_JFR_JFR_CLASSES_H
#define NMTWATCH_JFR_JFR_CLASSES_H

#include "reports/profile/call_tree.h"

#include <stddef.h>
#include <stdio.h>

#define JFR_WAYS_MAX       8
#define JFR_WAY_FRAMES_MAX 40

/* One way to come to a definition; texts are owned. */
struct jfr_way {
    char *definer, *caller; /* labels with lines; caller NULL: there is none */
    int64_t classes;        /* that its stacks stand for */
    int64_t stacks;
    int depth;
    char *frames[JFR_WAY_FRAMES_MAX]; /* of the first one, innermost first */
};

struct jfr_family {
    char *name, *example; /* example NULL: no stack of it was taken */
    int64_t loaded, unloaded;
    int64_t bytes, sized; /* of the classes whose size is known; bytes -1: of none */
    int way_count;
    struct jfr_way way[JFR_WAYS_MAX]; /* most classes first */
};

struct jfr_classes {
    int64_t duration_ms, chunks;
    int64_t loaded, unloaded, bytes, sized; /* bytes -1: not known */
    size_t family_count;
    struct jfr_family **families; /* most loaded first */
    struct call_tree *tree;       /* stacks with the family on top, weighted by classes; finished */
    char damage[600];             /* "" when the recording is whole */
};

/* fd stays the caller's. False with one sentence: no recording, or out of memory. */
bool jfr_classes_read(struct jfr_classes *classes, int fd, const char *name, char *error,
                      size_t error_size);
/* The families that loaded most, and for each whose code it is. */
void jfr_classes_print(const struct jfr_classes *classes, size_t rows, FILE *out);
/* One line (docs/json.md). False when out failed, or memory. */
bool jfr_classes_json(const struct jfr_classes *classes, FILE *out);
void jfr_classes_free(struct jfr_classes *classes);

#endif
