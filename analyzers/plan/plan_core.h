/*
 * plan_core: the figures of a plan that follow from its numbers alone; made once for the plan and
 * once for each "what if". Internal to analyzers/plan.
 */
#ifndef ANALYZERS_PLAN_PLAN_CORE_H
#define ANALYZERS_PLAN_PLAN_CORE_H

#include "analyzers/plan/plan.h"

struct plan_core {
    int64_t classes;
    struct jmethodid_cost ids;
    int64_t ids_kept_bytes;
    struct class_cost formula;
    double bytes_per_class;
    int64_t classes_bytes, metaspace_bytes;
    int64_t stacks_bytes;
    int64_t jmethod_ids_bytes; /* loaded and kept */
    int64_t profiler_bytes;    /* expected, without those */
    struct plan_figures figures[PLAN_COMPONENT_COUNT];
};

void plan_core_make(struct plan_core *core, const struct plan_input *input,
                    const struct plan_measured *measured);

#endif
