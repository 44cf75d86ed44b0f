/*
 * holders: which class loaders of a heap exist more often than they should, and who holds them.
 *
 *   holders_create (heap, a finished walk with parents, a finished retained)
 *   -> holders_wanted, holders_text for each that was fetched    names of threads and loaders
 *   -> holders_judge -> the lists -> holders_destroy
 *
 * A loader's group is its type and its name (that of a web application, say, where a field tells
 * it). A group of several loaders that define classes of the same names is one application loaded
 * several times: suspect. Paths are the shortest over strong references; those that differ only in
 * indexes, numbers in the names of threads and the length of chains are one.
 *
 * Pure; one thread. The texts belong to the struct.
 */
#ifndef ANALYZERS_HEAP_HOLDERS_H
#define ANALYZERS_HEAP_HOLDERS_H

#include "analyzers/heap/retained.h"
#include "analyzers/heap/walk.h"

enum held { HELD_STRONGLY, HELD_SOFTLY, HELD_BY_HIDDEN, HELD_BY_NOTHING, HELD_COUNT };
const char *held_name(enum held held); /* "strong" "soft" "hidden" "none" */

#define HOLDERS_STEPS_MAX 400 /* of a path; what is between its front and its end is counted */

struct holder_step {
    char *text;         /* "java.lang.Thread.threadLocals", "java.lang.Object[3]", "<class>" */
    char *type;         /* class of the object that refers; of a static field the class itself */
    const char *folded; /* the same without indexes; text when there are none */
    int64_t times;      /* in a chain; 0: steps that are left out */
    bool is_static;
    uint64_t id; /* of the object that refers */
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
    char *name; /* NULL: no field tells */
    enum held held;
    uint32_t classes;
    uint32_t group; /* equal for those of one group */
    int path;       /* -1 */
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
    int64_t metaspace_bytes; /* -1: not known */
    bool suspect;
    int path_count;
    int *paths; /* most loaders first */
};

struct holders {
    const struct heap *heap;
    const struct walk *walk;
    const struct retained *retained;
    const uint64_t *strong; /* a bit a node: marked before soft references were followed */
    int loader_count;
    struct held_loader *loaders;
    int group_count;
    struct holder_group *groups; /* suspects first, most retained first */
    int path_count, path_capacity;
    struct holder_path *paths;
    struct id_table wanted;
    uint64_t least_wanted, most_wanted;
    int text_count, text_capacity;
    struct holder_text {
        uint64_t id, array_id;
        int coder; /* -1 */
        char *text;
    } * texts;
    struct id_table text_of, text_of_array;
    bool failed;
};

/* Which loaders are asked about: not those of the JDK that exist once. By number; to be freed. */
bool *holders_asked(const struct heap *heap);
bool holders_create(struct holders *holders, const struct heap *heap, const struct walk *walk,
                    const uint64_t *strong, const struct retained *retained);
void holders_text(void *holders, uint64_t id, uint64_t class_id, uint8_t type, const uint8_t *bytes,
                  size_t length, uint64_t whole);
/* False: out of memory. */
bool holders_judge(struct holders *holders);
void holders_destroy(struct holders *holders);

/* The causes of holders.def. */
struct holder_cause {
    const char *id, *pattern, *title, *cause, *fix, *example;
};
int holder_cause_count(void);
const struct holder_cause *holder_cause(int row);
/* The first row that fits the path, -1. path: "ROOT > STEP > STEP ..." */
int holder_cause_of(const char *path);

#endif
