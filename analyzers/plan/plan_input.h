/*
 * plan_input: what a capacity plan is made from, as numbers with a default, a range, and a note whether
 * they were given.
 *
 *   plan_input_default -> plan_input_set ... -> plan_input_check
 *
 * Plain data; any thread. Numbers are doubles: counts are whole and below 10^11, so they are exact.
 */
#pragma once

#include "analyzers/plan/suitability.h"

enum plan_number {
#define PLAN_INPUT(id, option, kind, initial, least, most, value, help) PLAN_##id,
#include "analyzers/plan/plan_inputs.def"
    PLAN_NUMBER_COUNT,
};

enum plan_kind {
    PLAN_KIND_COUNT,
    PLAN_KIND_REAL,
    PLAN_KIND_RATE,
    PLAN_KIND_BYTES,
    PLAN_KIND_SECONDS
};

/* Collectors, for what they take beside the heap. */
enum plan_gc { PLAN_GC_SERIAL, PLAN_GC_PARALLEL, PLAN_GC_G1, PLAN_GC_Z, PLAN_GC_SHENANDOAH };

struct plan_slot {
    double number; /* below 0: unknown */
    bool given;
};

struct plan_input {
    struct plan_slot slot[PLAN_NUMBER_COUNT];
    int jdk_major;
    bool jdk_given;
    enum plan_gc gc;
    bool gc_given;
    bool generated; /* classes as generators make them, not people */
};

struct plan_number_row {
    const char *option;
    enum plan_kind kind;
    double initial, least, most;
    const char *value, *help; /* for the command line */
};
const struct plan_number_row *plan_number_row(enum plan_number number);

#define PLAN_JDK_DEFAULT 17

void plan_input_default(struct plan_input *input);
void plan_input_set(struct plan_input *input, enum plan_number number, double value);
double plan_input_get(const struct plan_input *input, enum plan_number number);
bool plan_input_known(const struct plan_input *input, enum plan_number number);
/* Loads within the horizon: what comes and goes, and what comes and stays. */
double plan_input_churned(const struct plan_input *input);
double plan_input_grown(const struct plan_input *input);
/* False, and one sentence without a full stop: a number out of its range, or two that contradict
 * each other. */
bool plan_input_check(const struct plan_input *input, char *error, size_t size);

/* Rounded; below 0 it is 0, above the range INT64_MAX. */
static inline int64_t plan_whole(double number)
{
    return number >= 9.2e18 ? INT64_MAX : number <= 0.0 ? 0 : (int64_t)(number + 0.5);
}

const char *plan_gc_name(enum plan_gc gc); /* "g1" */
/* False: no collector of that name. */
bool plan_gc_from_name(const char *name, enum plan_gc *gc);

/*
 * plan_component: the parts of a profiler that a plan counts, with what is documented of each.
 *
 * Rows of plan.def. Plain data; any thread.
 */
enum plan_component {
#define PLAN_COMPONENT(id, key, title, names, ordinary, churn, documented, expected) PLAN_PART_##id,
#include "analyzers/plan/plan.def"
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
