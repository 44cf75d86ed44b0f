/* class_makers: class definitions summed up: by family of names, and by whose code defines them
 * and which line of the application asked for them (analyzers/classes/call_site.h). From a recording (nmtwatch/jfr/jfr_classes.h) or seen from outside
 * (nmtwatch/observe).
 *
 *   class_makers_build -> class_makers_family, class_makers_add ... -> class_makers_finish
 *   -> use, class_makers_print, _json -> class_makers_free
 *
 * Counts of families are the caller's; which code defines them is known from the stacks that were
 * taken, each of which stands for so many classes. Bounded: families, ways of each; what is beyond
 * is counted with the last one. One thread. */
#pragma once

#include "reports/profile/call_tree.h"

#include <stddef.h>
#include <stdio.h>

#define CLASS_MAKERS_FRAMES_MAX 4096
#define CLASS_WAYS_MAX          8
#define CLASS_WAY_FRAMES_MAX    40

/* One way to come to a definition; texts are owned. */
struct class_way {
    /* With lines. caller: of the application (call_site.asked_by), NULL: all is the JDK's; through: the library's frame that it called, NULL:
     * the application itself defines. */
    char *definer, *caller, *through;
    int64_t classes; /* that its stacks stand for */
    int64_t stacks;
    int depth;
    char *frames[CLASS_WAY_FRAMES_MAX]; /* of the first one, innermost first */
};

struct class_family {
    char *name, *example; /* example NULL: no stack of it was taken */
    int64_t loaded, unloaded;
    int64_t bytes, sized; /* of the classes whose size is known; bytes -1: of none */
    int way_count;
    struct class_way way[CLASS_WAYS_MAX]; /* most classes first */
};

struct class_makers {
    int64_t duration_ms, chunks;
    int64_t loaded, unloaded, bytes, sized; /* bytes -1: not known */
    size_t family_count;
    struct class_family **families; /* most loaded first */
    struct call_tree *tree; /* stacks with the family on top, weighted by classes; finished */
    char damage[600];       /* "" when the recording is whole */
};

struct class_makers_builder;
/* NULL: out of memory. The builder is given back with free(), before or after class_makers_finish. */
struct class_makers_builder *class_makers_build(struct class_makers *classes);
/* The family of a name, whose counts are the caller's to set. NULL: there are too many of them, or no
 * memory. */
struct class_family *class_makers_family(struct class_makers_builder *builder, const char *name);
/* A stack, innermost first, for so many classes of a family. False: out of memory. */
bool class_makers_add(struct class_makers_builder *builder, struct class_family *family,
                      const char *class_name, const struct stack_frame *frames, int depth,
                      int64_t count);
/* Sums up and sorts: nothing may be added afterwards. */
void class_makers_finish(struct class_makers *classes);
/* The families that loaded most, and for each whose code it is. */
void class_makers_print(const struct class_makers *classes, size_t rows, FILE *out);
/* Members of the object that is open: family_count, families. */
void class_makers_families_json(const struct class_makers *classes, struct json_out *out);
/* One line (docs/json/profile.md). False when out failed, or memory. */
bool class_makers_json(const struct class_makers *classes, FILE *out);
void class_makers_free(struct class_makers *classes);
