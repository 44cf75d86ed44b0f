/*
 * internal: what "NMT Internal" has to mean on each JDK, so that the documented thresholds do.
 *
 * jmethodIDs, the profilers' own bill, moved between categories: on JDK 8 all of it is in Class and
 * Internal holds direct buffers; on 9 to 25 the id slots are in Internal (42 %) and the rest in
 * Class; from 26 on Internal does not move at all and JNI + Class do. "Internal" for alerts is the
 * sum of the categories that hold what Internal held:
 *
 *   JDK 8       Internal            (direct buffers live there; Class is judged by its own alert)
 *   JDK 9..25   Internal
 *   JDK 26..    Internal + JNI
 *
 * Class is not added: it also holds the classes themselves, which class-metaspace-growth judges.
 * Source: docs/internals/measurements.md. Any thread.
 */
#pragma once

#include "analyzers/model/event.h"

/* JDKs up to 10 count the whole reserved stack of each thread as committed. */
#define STACKS_RESERVED_LAST_JDK 10

/* Committed bytes; false when the sample has no NMT summary or lacks Internal. */
bool internal_bytes(const struct sample *sample, int jdk_major, int64_t *bytes);
/* JNI is part of Internal then. */
bool internal_has_jni(int jdk_major);
/* The same as words for the operator: "Internal", "Internal + JNI". */
const char *internal_meaning(int jdk_major);
/* Class + Metaspace committed (8, 11: Class holds both). */
bool class_metaspace_bytes(const struct sample *sample, int64_t *bytes);

/*
 * jmethodid_cost: what the JVM keeps for jmethodIDs, in bytes, by JDK.
 *
 * A profiler that uses AsyncGetCallTrace asks for the jmethodIDs of every class. For a class with n
 * methods HotSpot then keeps (measured to 0.5 B on 17 and 25 at n = 1, 5, 15, 40, 150, one loader a
 * class and one loader for all; docs/internals/memory-budget.md has the command):
 *
 *   JDK 8 to 25   8(n+1)             cache of the class         freed at unload
 *                 8 max(n,8)         slots                      never freed
 *                 24                 node of the block list     never freed
 *                 16 a loader        the list itself            never freed
 *   JDK 26+       24 n               table entries              freed at unload
 *                 8(n+1)             cache of the class         freed at unload
 *                 24 + 8 c a loader  its list of ids, capacity c = 32, 64, ... freed at unload
 *
 * Categories: slots are Internal from 9 on, table entries JNI (26+), all the rest Class; on JDK 8
 * all is Class. NMT adds its header to each malloc when it is on: 16 B, 18 B from 25 on.
 *
 * Pure; any thread. Sums saturate at INT64_MAX.
 */
/* Classes of one shape whose ids were asked for. */
struct jmethodid_load {
    int64_t classes;
    double methods_per_class;
    int64_t loaders; /* they are spread over; at least 1 */
};

struct jmethodid_cost {
    /* While the classes are loaded. */
    int64_t class_bytes;
    int64_t internal_bytes;
    int64_t jni_bytes;
    /* Bytes that stay after all of them were unloaded. */
    int64_t kept_class_bytes;
    int64_t kept_internal_bytes;
    /* NMT's own headers for these mallocs, while loaded; only when NMT is on. */
    int64_t nmt_header_bytes;
};

/* jdk_major 0 (unknown) is taken for 17. */
struct jmethodid_cost jmethodid_cost(int jdk_major, struct jmethodid_load load);
/* slots_per_class: the mean of max(n,8); 0: not counted, that of the mean n. */
struct jmethodid_cost jmethodid_cost_counted(int jdk_major, struct jmethodid_load load,
                                             double slots_per_class);
void jmethodid_cost_add(struct jmethodid_cost *cost, const struct jmethodid_cost *further);
int64_t jmethodid_loaded_bytes(const struct jmethodid_cost *cost);
int64_t jmethodid_kept_bytes(const struct jmethodid_cost *cost);
