/*
 * plan: a capacity plan: what classes and a profiler will take of a JVM, whether that is wise, and
 * what the container must hold.
 *
 *   plan_input (+ plan_measured) --plan_make--> plan
 *
 * Three columns for each component of the profiler, so that a document can be held against the
 * world: documented (the range, and the formula at these inputs), expected (formulas that were
 * measured, by JDK), measured (only where a JVM or a recording was looked at).
 *
 * Bytes; -1: not known. Pure; plain data; any thread.
 */
#pragma once

#include "analyzers/native/internal.h"
#include "analyzers/plan/sizing.h"
#include "analyzers/plan/measured.h"
#include "analyzers/plan/plan_input.h"
#include "analyzers/plan/suitability.h"

struct plan_figures {
    int64_t documented_bytes; /* by the documented formula */
    int64_t expected_bytes;
    int64_t measured_bytes;
};

/* What more of something means, against the plan itself. */
struct plan_change {
    const char *key;
    char what[64];
    int64_t classes_bytes;
    int64_t jmethod_ids_bytes;
    int64_t profiler_bytes; /* its other components */
    int64_t stacks_bytes;   /* of threads */
};
#define PLAN_CHANGES_MAX 8

struct plan {
    struct plan_input input;
    struct plan_measured measured; /* plan_measured_none without a measurement */
    enum suitability verdict;
    char reason[400]; /* one sentence without a full stop */
    /* By what jmethodIDs are measured to cost; costs_reason "": the same verdict. */
    enum suitability by_costs;
    char costs_reason[200];

    enum suitability_load load; /* which documented range holds */
    struct plan_figures figures[PLAN_COMPONENT_COUNT];
    struct plan_figures sums[PLAN_SUM_COUNT];

    int64_t classes;           /* at the end of the plan */
    struct jmethodid_cost ids; /* of those */
    int64_t ids_kept_bytes;    /* of what came and went: never freed */
    struct class_cost formula; /* of those classes */
    double bytes_per_class;    /* of one more: measured where it could be, else by formula */
    int64_t classes_bytes;     /* of all classes; measured level and what comes to it */
    int64_t metaspace_bytes;   /* of that what -XX:MaxMetaspaceSize bounds */

    struct sizing sizing;
    int change_count;
    struct plan_change changes[PLAN_CHANGES_MAX];

    /* At the present (or given) rate. */
    double bytes_per_s;
    bool have_limit_time;
    double limit_s; /* until the container's limit is reached */
    bool have_metaspace_time;
    double metaspace_s; /* until MaxMetaspaceSize is */
};

/* input: checked. measured may be NULL. */
void plan_make(struct plan *plan, const struct plan_input *input,
               const struct plan_measured *measured);
