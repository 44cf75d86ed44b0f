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
#ifndef ANALYZERS_PLAN_CLASS_COST_H
#define ANALYZERS_PLAN_CLASS_COST_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
