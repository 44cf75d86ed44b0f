/*
 * class_graph: classes, methods and jmethodIDs that exist in a JVM now, and by family of class names:
 *
 *   ClassLoaderDataGraph -> ClassLoaderData -> Klass -> Array<Method *>, its length
 *                              |                 +----> the class's jmethodIDs (JDK 25 and earlier)
 *                              +-> the next
 *
 * Read through load.h at the offsets of `layout`: the agent's own JVM, or another one
 * (nmtwatch/observe/loaded_methods.c). The JVM goes on meanwhile: classes that come or go during the walk
 * may be counted or not, and a list that leads nowhere any more is left. Lists are bounded: one may be a
 * circle. Nothing is written, no thread is stopped. Not in a signal handler.
 */
#pragma once

#include "floor/base/normalize.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOADED_FAMILIES_MAX 4096

struct loaded_family {
    char name[CLASS_FAMILY_MAX];
    int64_t classes, methods;
};

/* Zeroed by its owner before a walk; 900 KB, of which is touched what is used. */
struct loaded_families {
    uint16_t place[2 * LOADED_FAMILIES_MAX]; /* family + 1, by the hash of its name; 0: free */
    struct loaded_family family[LOADED_FAMILIES_MAX];
};

struct loaded_methods {
    int64_t loaders, classes, methods;
    int64_t own_classes,
        own_methods; /* without those of the boot loader: mostly the class archive's */
    int64_t slots; /* what the methods take of HotSpot's tables of jmethodIDs: 8 a class at least */
    int64_t torn;  /* lists that were left because they led nowhere any more */
    int64_t
        ids; /* jmethodIDs; -1: this JDK keeps them elsewhere (26 and later), or not asked for */
    struct loaded_families *families; /* as given */
    size_t family_count;              /* most methods first; the last may be "[other families]" */
};

/* families: zeroed; NULL: neither names nor jmethodIDs are read, sums alone. False with one sentence:
 * the JVM's tables lack it, or there are more than STEPS_MAX class loaders and classes. */
bool class_graph_walk(struct loaded_methods *out, struct loaded_families *families, char *error,
                      size_t error_size);
/* As people know it. False: it is no class. */
bool class_graph_name(uintptr_t klass, char out[CLASS_NAME_MAX]);
