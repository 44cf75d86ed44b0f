/*
 * alloc_classes: what each class came to, from the first chunk to the last.
 *
 * A sample whose calibration is known for good (its thread allocated much in that chunk) is
 * settled; the others wait in a pool whose calibration is found from all of them together, when it
 * is asked for. Names are the JVM's (slashes, "[B"), without the address at the end of a hidden
 * class's name: what one lambda after the other allocates is one row. Bounded: classes beyond
 * ALLOC_CLASSES_MAX share the first row.
 *
 * Under the lock of the profile.
 */
#pragma once

#include "agent/alloc/alloc_threads.h"
#include "agent/json/json.h"

#define ALLOC_CLASSES_MAX 4096

struct alloc_class {
    const char *name;
    uint32_t pool_id; /* of the chunk being written; 0: not in it yet */
    int64_t samples;
    double settled_bytes, settled_variance;
    struct weight_sums pool;
    double counted_bytes; /* count x max(size, interval): the estimate that others publish */
};

struct alloc_classes;

struct alloc_classes *alloc_classes_create(void);
/* signature: as JVMTI reports it. 0, the row of all others, when there is no room; never fails. */
uint32_t alloc_classes_put(struct alloc_classes *classes, const char *signature);
struct alloc_class *alloc_classes_at(struct alloc_classes *classes, uint32_t number);
uint32_t alloc_classes_count(const struct alloc_classes *classes); /* numbers are below this */
/* An array of {"class", "bytes", "se_bytes", "samples", "counted_bytes"}, with Java's names, of
 * the classes that have samples. calibration: of the pool. */
void alloc_classes_json(const struct alloc_classes *classes, double calibration, struct json *json);
void alloc_classes_destroy(struct alloc_classes *classes);

/* "[Ljava/lang/String;" -> "java.lang.String[]". Returns out. */
char *alloc_class_java_name(const char *name, char *out, size_t size);
