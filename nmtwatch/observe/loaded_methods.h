/*
 * loaded_methods: classes, methods and jmethodIDs that exist in a JVM now, by family of class names, read
 * from outside:
 *
 *   ClassLoaderDataGraph -> ClassLoaderData -> Klass -> Array<Method *>, its length
 *                              |                 +----> the class's jmethodIDs (JDK 25 and earlier)
 *                              +-> the next
 *
 * The JVM goes on meanwhile: classes that come or go during the walk, some 2 us for each, may be counted
 * or not. Nothing is written, nobody stands still. Blocking; one process at a time, one thread.
 */
#ifndef NMTWATCH_OBSERVE_LOADED_METHODS_H
#define NMTWATCH_OBSERVE_LOADED_METHODS_H

#include "analyzers/classes/normalize.h"
#include "nmtwatch/jvm/target.h"
#include "reports/profile/call_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOADED_FAMILIES_MAX 4096

struct loaded_family {
    char name[CLASS_FAMILY_MAX];
    int64_t classes, methods;
};

struct loaded_methods {
    int64_t loaders, classes, methods;
    int64_t own_classes,
        own_methods; /* without those of the boot loader: mostly the class archive's */
    int64_t ids;     /* jmethodIDs; -1: this JDK keeps them elsewhere (26 and later) */
    size_t family_count;
    struct loaded_family *families; /* most methods first; the last may be "[other families]" */
};

/* False with one sentence. loaded_methods_free in either case. */
bool loaded_methods_read(const struct target *target, struct loaded_methods *out, char *error,
                         size_t error_size);
/* A class's methods in the mean: of the application's where there are enough of them. */
double loaded_methods_per_class(const struct loaded_methods *methods);
/* PROFILE_TOP: one object, one line (docs/json/observe.md); PROFILE_TOP_TEXT: a table. False: another format,
 * or out failed. */
bool loaded_methods_write(const struct loaded_methods *methods, const struct target *target,
                          enum profile_format format, FILE *out);
/* In one line. */
void loaded_methods_sentence(const struct loaded_methods *methods, char *out, size_t size);
void loaded_methods_free(struct loaded_methods *methods);

#endif
