/*
 * sizing: what a container has to hold, part by part, and the flags that keep a JVM inside of it.
 *
 * The parts are what is resident; where a JVM was measured, its own figures. The proposal adds a
 * reserve of RESERVE_PERCENT on all but the heap (what malloc does not give back, native libraries,
 * a JIT that compiles more than it did) and rounds up to SIZING_STEP_BYTES.
 *
 * Bytes; -1: not known. Pure; plain data; any thread.
 */
#pragma once

#include "analyzers/plan/measured.h"

#define SIZING_RESERVE_PERCENT 10
#define SIZING_STEP_BYTES      (INT64_C(64) << 20)
#define SIZING_PARTS_MAX       10

struct sizing_part {
    const char *key, *title;
    int64_t bytes;
    char basis[96]; /* how it was come to */
};

struct sizing {
    bool heap_known; /* otherwise the sums are without a heap */
    int part_count;
    struct sizing_part parts[SIZING_PARTS_MAX];
    int64_t total_bytes; /* of the parts */
    int64_t reserve_bytes;
    int64_t proposal_bytes; /* for the container */
    int64_t limit_bytes;    /* that there is; -1 */
    bool fits;              /* the total into the limit; true without one */
    int64_t max_metaspace_bytes;
    int64_t code_cache_bytes;
    int64_t stacks_reserved_bytes; /* -Xss x threads */
    char flags[256];               /* to paste */
};

struct sizing_needs {
    const struct plan_input *input;
    const struct plan_measured *measured;
    int64_t classes;
    int64_t classes_bytes;   /* all that classes take */
    int64_t metaspace_bytes; /* of that, what MaxMetaspaceSize bounds */
    int64_t jmethod_ids_bytes;
    int64_t profiler_bytes; /* without those */
};

void sizing_make(struct sizing *sizing, const struct sizing_needs *needs);

/*
 * class_cost: what loaded classes take of a JVM's memory, in bytes, by JDK; without jmethodIDs.
 *
 * A class is Metaspace (methods, constants), class space (its vtable and the like: with Metaspace
 * what -XX:MaxMetaspaceSize bounds), a little malloc, names in the symbol table. A class loader is
 * malloc of its own and Metaspace in chunks: 4 KB, doubled while it needs more, so that a loader
 * for every class costs as much again as the classes.
 *
 * Two kinds of classes: of an application (code as people write it) and generated ones (a
 * constructor and methods of a line). Measured, difference of NMT between 0 and 10 000 classes of a
 * kind; docs/capacity.md has the commands and how far the formulas are off.
 *
 * Pure; any thread. Sums saturate at INT64_MAX.
 */
struct class_load {
    int64_t classes;
    double methods_per_class;
    int64_t loaders; /* they are spread over; at least 1 */
    bool generated;
};

struct class_cost {
    int64_t metaspace_bytes; /* without class space */
    int64_t class_space_bytes;
    int64_t malloc_bytes; /* category Class, and Module and the like for a loader */
    int64_t symbol_bytes;
    int64_t nmt_bytes; /* NMT's own headers for all of that; only when NMT is on */
};

/* jdk_major 0 (unknown) is taken for 17. */
struct class_cost class_cost(int jdk_major, struct class_load load);
/* What -XX:MaxMetaspaceSize bounds. */
int64_t class_cost_metaspace(const struct class_cost *cost);
int64_t class_cost_total(const struct class_cost *cost);
