/*
 * plan_component: the parts of a profiler that a plan counts, with what is documented of each.
 *
 * Rows of plan.def. Plain data; any thread.
 */
#ifndef ANALYZERS_PLAN_PLAN_COMPONENT_H
#define ANALYZERS_PLAN_PLAN_COMPONENT_H

#include "analyzers/plan/plan_input.h"
#include "analyzers/plan/suitability.h"

enum plan_component {
#define PLAN_COMPONENT(id, key, title, names, ordinary, churn, documented, expected) PLAN_PART_##id,
#include "analyzers/plan/plan.def"
#undef PLAN_COMPONENT
    PLAN_COMPONENT_COUNT,
};

struct plan_range {
    const char *text; /* as documented, to the digit */
    int64_t low_bytes, high_bytes;
};

struct plan_component_row {
    const char *key, *title;
    const char *names; /* of the agent's account; NULL: whatever is left */
    struct plan_range ordinary, churn;
};
const struct plan_component_row *plan_component_row(enum plan_component component);

/* The sums as documented. */
enum plan_sum { PLAN_SUM_WITHOUT_IDS, PLAN_SUM_WITH_IDS, PLAN_SUM_COUNT };
struct plan_range plan_documented_sum(enum plan_sum sum, enum suitability_load load);
/* Where the document gives a range for a number of classes only in all, that of each part is the one of high
 * churn, and jmethodIDs are the rest. */
struct plan_range plan_documented(enum plan_component component, enum suitability_load load);

/* Bytes by the documented formula and as expected, for classes at the end of the plan and what the
 * JVM keeps for their jmethodIDs. -1: there is no formula. */
void plan_component_formulas(enum plan_component component, const struct plan_input *input,
                             int64_t classes, int64_t jmethod_ids_bytes, int64_t *documented,
                             int64_t *expected);

#endif
