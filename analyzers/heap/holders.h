/*
 * holders: which class loaders of a heap exist more often than they should, and who holds them.
 *
 *   holders_create (heap, a finished walk with parents, which is not needed after it)
 *   -> holders_among, holders_text for each object of the dump   names of threads and loaders
 *   -> holders_judge -> holders_keepers, holders_weigh (a finished retained) -> the lists -> holders_destroy
 *
 * A group are the loaders of one type and one application: those of one name (loaders.def), and those
 * whose classes have the same names, whatever the loaders are called (copies.c). A group of several
 * is one application loaded several times: suspect. The JVM clears soft references before memory
 * runs out: loaders that only these hold are reported separately. Paths are the shortest over strong
 * references; those that do the same in live code are one: indexes, numbers in the names of threads,
 * the length of chains and what follows inside the application are no difference.
 *
 * The cut of a path is where the copies accumulate: the last field of live code that is neither the
 * JDK's nor a known library's, in the part that the paths of all these copies have in common; where there is
 * none, the last such field of the path; where there is none, the field that the row of holders.def
 * tells. Rows are matched against the steps from the cut on: what stands above does not decide.
 *
 * Pure; one thread. The texts belong to the struct.
 */
#pragma once

#include "analyzers/heap/retained.h"
#include "analyzers/heap/walk.h"
#include "floor/base/span.h"

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
    uint32_t at;   /* its number in the chain */
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
    int cause;       /* row of holders.def, -1 */
    int from;        /* the first step of its signature */
    int live;        /* the last step of live code, -1: the root refers to the application */
    int cut;         /* step to cut at, -1: the root is what has to go */
    bool told;       /* the cut is the step that the row names */
    bool root_ends;  /* what has to go is the root: a thread */
    uint32_t turn;   /* 0; k: when the paths of the turns before are cut */
    uint32_t common; /* nodes that the chains of all its loaders begin with */
    uint32_t loaders;
    bool in_use;            /* of the one copy that is in use */
    int64_t retained_bytes; /* what cutting it frees: dominated by what is behind the cut */
    uint32_t example;       /* loader number */
    uint32_t first;         /* the same, of holders.loaders */
    uint32_t group;         /* of holders.loaders */
    enum held held;
};

struct held_loader {
    uint32_t loader; /* number in the heap */
    uint32_t class;
    uint64_t id;
    char *name;        /* NULL: no field has it */
    bool by_container; /* the name is one that a container gave */
    bool stopped;      /* by its container */
    uint32_t threads;  /* that have a frame of its classes */
    uint32_t age;      /* smaller is more recent; UINT32_MAX: not known */
    enum held held;
    uint32_t classes;
    uint32_t group;            /* equal for those of one group */
    int path;                  /* the shortest one, -1 */
    int path_now;              /* of this turn, -1 */
    uint32_t turns;            /* in which it had a path */
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
    uint32_t first;               /* of its loaders in holders.loaders */
    bool copies;                  /* one application several times */
    bool suspect;                 /* ... and held */
    bool scripts;                 /* classes of different names, as a generator gives them */
    int in_use;                   /* number in holders.loaders of the copy that is in use; -1 */
    enum in_use { IN_USE_NOT_STOPPED, IN_USE_NEWEST } why_in_use;
    bool softly; /* ... but by soft references only, all but one */
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
    uint32_t *group_of, *parent; /* of each loader of the heap; NO_OBJECT */
    struct id_table path_of;     /* by hash of group, turn and signature */
    struct id_table counted;     /* path and loader */
    struct cut cut;
    size_t keeper_count, keeper_capacity;
    struct holder_keeper {
        uint32_t node; /* behind the cut */
        int path;
    } * keepers;
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
/* Groups and paths, and what else holds suspect copies: further walks without what was cut. give_up:
 * as in a walk. False: out of memory. */
bool holders_judge(struct holders *holders, const volatile int *give_up);
/* Nodes to ask a retained for: to be freed. */
uint32_t *holders_keepers(const struct holders *holders, uint32_t *count);
/* Sizes, and the lists by them. False: out of memory. */
bool holders_weigh(struct holders *holders, const struct retained *retained);
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
struct holder_fit {
    int row;      /* -1 */
    int step;     /* that it names; -1: the root */
    bool of_root; /* it names the root, perhaps with a step: that is what has to go */
};
/* The most specific row (holders.def says what that is) that fits a step, or the root (NULL: no
 * matter) with or without the step behind it. shared: so many steps are those of all copies; of equal ones
 * the last of these is taken. */
struct holder_fit holder_cause_of(const char *root, const char *const *steps, int count,
                                  int shared);
