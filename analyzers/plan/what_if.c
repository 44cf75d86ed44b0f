#include "analyzers/plan/what_if.h"

#include "analyzers/plan/plan_core.h"

#include <stdio.h>
#include <string.h>

#define MORE_CLASSES 10000
#define MORE_THREADS 100.0
#define MORE_TRACES  10000.0
#define MORE_METHODS 1000.0
#define TABLE_JDK    26 /* ids became entries of a table */

static int64_t less(int64_t a, int64_t b)
{
    return a == INT64_MAX ? INT64_MAX : a - b;
}

static struct plan_change *begin(struct plan *plan, const char *key, const char *what)
{
    struct plan_change *out = &plan->changes[plan->change_count++];
    memset(out, 0, sizeof *out);
    out->key = key;
    snprintf(out->what, sizeof out->what, "%s", what);
    return out;
}

static void change(struct plan *plan, const char *key, const char *what,
                   const struct plan_input *input)
{
    struct plan_core now, then;
    struct plan_change *out = begin(plan, key, what);
    plan_core_make(&now, &plan->input, &plan->measured);
    plan_core_make(&then, input, &plan->measured);
    out->classes_bytes = less(then.classes_bytes, now.classes_bytes);
    out->jmethod_ids_bytes = less(then.jmethod_ids_bytes, now.jmethod_ids_bytes);
    out->profiler_bytes = less(then.profiler_bytes, now.profiler_bytes);
    out->stacks_bytes = less(then.stacks_bytes, now.stacks_bytes);
}

/* Those that are there stay in their loaders. */
static void loader_for_each(struct plan *plan)
{
    double methods = plan_input_get(&plan->input, PLAN_METHODS_PER_CLASS);
    struct plan_change *out = begin(plan, "loaders", "10 000 more classes, a loader for each");
    struct class_cost classes =
        class_cost(plan->input.jdk_major,
                   (struct class_load){MORE_CLASSES, methods, MORE_CLASSES, plan->input.generated});
    struct jmethodid_cost ids = jmethodid_cost(
        plan->input.jdk_major, (struct jmethodid_load){MORE_CLASSES, methods, MORE_CLASSES});
    out->classes_bytes = class_cost_total(&classes);
    out->jmethod_ids_bytes = jmethodid_loaded_bytes(&ids);
}

static struct plan_input more(const struct plan *plan, enum plan_number number, double amount)
{
    struct plan_input input = plan->input;
    input.slot[number].number += amount;
    return input;
}

void plan_what_if(struct plan *plan)
{
    char what[64];
    double churn = plan_input_get(&plan->input, PLAN_CHURN);
    plan->change_count = 0;

    struct plan_input input = more(plan, PLAN_CLASSES, MORE_CLASSES);
    bool grows = plan->measured.loaders_per_class >= 0.0;
    if (grows)
        input.slot[PLAN_LOADERS].number += MORE_CLASSES * plan->measured.loaders_per_class;
    change(plan, "classes",
           grows ? "10 000 more classes, as they come now"
                 : "10 000 more classes, in the same loaders",
           &input);
    if (plan->measured.basis == PLAN_BASIS_FORMULA)
        loader_for_each(plan);
    input = more(plan, PLAN_THREADS, MORE_THREADS);
    change(plan, "threads", "100 more threads", &input);
    input = more(plan, PLAN_CHURN, churn > 0.0 ? 9.0 * churn : 1.0);
    snprintf(what, sizeof what, "%s",
             churn > 0.0 ? "ten times the churn" : "1 class/s that comes and goes");
    change(plan, "churn", what, &input);
    input = more(plan, PLAN_TRACES, MORE_TRACES);
    change(plan, "traces", "10 000 more stacks in a chunk", &input);
    input = more(plan, PLAN_SAMPLED_METHODS, MORE_METHODS);
    change(plan, "sampled_methods", "1 000 more methods in samples", &input);
    if (plan->input.jdk_major < TABLE_JDK) {
        input = plan->input;
        input.jdk_major = TABLE_JDK;
        change(plan, "jdk", "the same on JDK 26", &input);
    }
}
