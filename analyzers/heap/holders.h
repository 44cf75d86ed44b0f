/*
 * holders: which class loaders of a heap exist more often than they should, and who holds them.
 *
 *   holders_create (heap, a finished walk with parents, which is not needed after it)
 *   -> holders_among, holders_text for each object of the dump   names of threads and loaders
 *   -> holders_judge (a finished retained) -> the lists -> holders_destroy
 *
 * A loader's group is its type and its name (that of a web application, say, where a field tells
 * it). A group of several loaders that define classes of the same names is one application loaded
 * several times: suspect. The JVM clears soft references before memory runs out: loaders that only
 * these hold are reported separately. Paths are the shortest over
 * strong references; those that differ only in indexes, numbers in the names of threads and the
 * length of chains are one.
 *
 * Pure; one thread. The texts belong to the struct.
 */
#pragma once

#include "analyzers/heap/retained.h"
#include "analyzers/heap/walk.h"
#include "analyzers/parse/span.h"

enum held { HELD_STRONGLY, HELD_SOFTLY, HELD_BY_HIDDEN, HELD_BY_NOTHING, HELD_COUNT };
const char *held_name(enum held held); /* "strong" "soft" "hidden" "none" */

#define HOLDERS_STEPS_MAX 400 /* of a path; what is between its front and its end is counted */

/* The nodes from a root to a loader, which is the last. */
struct holder_chain {
    uint32_t *nodes;
    uint32_t count;  /* HOLDERS_STEPS_MAX at most: a long one has a gap before nodes[count / 2] */
    uint32_t length; /* with those left out */
    uint32_t root;   /* of heap.roots */
};

struct holder_step {
    char *text;         /* "java.lang.Thread.threadLocals", "java.lang.Object[3]", "<class>" */
    char *type;         /* class of the object that refers; of a static field the class itself */
    const char *folded; /* the same without indexes; text when there are none */
    int64_t times;      /* in a chain; 0: steps that are left out */
    bool is_static;
    bool of_class; /* what refers is a class itself */
    uint64_t id;   /* of the object that refers */
};

struct holder_path {
    char *root; /* "thread \"http-8080-exec-3\"" */
    char *root_folded;
    enum root_kind root_kind;
    char *root_place; /* method of a local variable; NULL */
    int step_count;
    struct holder_step *steps;
    int64_t length; /* references, the one from the root included */
    char *signature;
    int cause; /* row of holders.def, -1 */
    int cut;   /* step to cut at, -1 */
    uint32_t loaders;
    int64_t retained_bytes;
    uint32_t example; /* loader number */
    uint32_t group;   /* of holders.loaders */
    enum held held;
};

struct held_loader {
    uint32_t loader; /* number in the heap */
    uint32_t class;
    uint64_t id;
    char *name; /* NULL: no field has it */
    enum held held;
    uint32_t classes;
    uint32_t group;            /* equal for those of one group */
    int path;                  /* -1 */
    struct holder_chain chain; /* nothing of one that is held by nothing */
    int64_t retained_bytes, retained_objects;
};

struct holder_group {
    const char *type;
    const char *name; /* "" */
    uint32_t loaders, held[HELD_COUNT];
    int64_t classes;
    int64_t names;      /* different names among them */
    int64_t duplicates; /* classes beyond the first of their name */
    int64_t retained_bytes;
    int64_t metaspace_bytes;      /* -1: not known, or its type has other groups */
    int64_t type_metaspace_bytes; /* of all loaders of the type; -1: not known */
    bool suspect;                 /* one application several times, and held */
    bool softly;                  /* ... but by soft references only, all but one */
    int path_count;
    int *paths; /* most loaders first, over soft references last */
};

struct holders {
    const struct heap *heap;
    const bool *asked; /* by loader */
    int loader_count;
    struct held_loader *loaders;
    int group_count;
    struct holder_group *groups; /* suspects first, most retained first */
    int path_count;
    size_t path_capacity;
    struct holder_path *paths;
    uint64_t least_wanted, most_wanted; /* arrays */
    int text_count;
    size_t text_capacity;
    struct holder_text {
        char *text;
    } * texts;
    struct id_table text_of, text_of_array;
    bool failed;
};

/* Which loaders are asked about: not those of the JDK that exist once. By number; to be freed. */
bool *holders_asked(const struct heap *heap);
/* The loaders that a walk has reached so far, by number; to be freed. */
bool *holders_reached(const struct walk *walk);
/* asked is kept. strong: those reached before soft references were followed. */
bool holders_create(struct holders *holders, const struct heap *heap, const bool *asked,
                    const struct walk *walk, const bool *strong);
/* Whether a text that is needed is between these two in the dump. */
bool holders_among(const struct holders *holders, uint64_t least_id, uint64_t most_id);
/* An object of the dump; any thread, each object once. */
void holders_text(struct holders *holders, const struct heap_object *object);
/* False: out of memory. */
bool holders_judge(struct holders *holders, const struct retained *retained);
/* After holders_judge: Metaspace (chunks) by VM.classloader_stats of the same JVM. Its rows have a
 * loader's type and no name. False: the text is cut, and not used. */
bool holders_metaspace(struct holders *holders, struct span loader_stats);
void holders_destroy(struct holders *holders);

/* The causes of holders.def. */
struct holder_cause {
    const char *id, *pattern, *title, *cause, *fix, *example;
};
extern const struct holder_cause holder_causes[];
extern const int holder_cause_count;
/* The first row that fits the path, -1. path: "ROOT > STEP > STEP ..." */
int holder_cause_of(const char *path);
