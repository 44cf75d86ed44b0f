#include "analyzers/plan/plan.h"

#include "analyzers/model/units.h"
#include "floor/base/span.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <math.h>

/* --- what follows from the numbers alone ------------------------------------------------------ */

/* Made once for the plan and once for each "what if". */
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

#define STACK_TOUCHED 131072.0 /* sizing.c says why */

static struct class_load class_load_of(const struct plan_input *input, int64_t classes)
{
    double loaders = plan_input_get(input, PLAN_LOADERS);
    return (struct class_load){.classes = classes,
                               .methods_per_class = plan_input_get(input, PLAN_METHODS_PER_CLASS),
                               .loaders = plan_whole(fmin(loaders, (double)classes)),
                               .generated = input->generated};
}

static void classes(struct plan_core *core, const struct plan_input *input,
                    const struct plan_measured *measured)
{
    struct class_load load = class_load_of(input, core->classes);
    core->formula = class_cost(input->jdk_major, load);
    if (measured->basis == PLAN_BASIS_FORMULA) {
        core->classes_bytes = class_cost_total(&core->formula);
        core->metaspace_bytes = class_cost_metaspace(&core->formula);
        core->bytes_per_class = (double)core->classes_bytes / (double)core->classes;
        return;
    }
    /* What is there, and what comes to it at what one more costs. Fewer: as many less. */
    double further = (double)(core->classes - measured->classes);
    core->bytes_per_class = measured->bytes_per_class;
    core->classes_bytes =
        plan_whole((double)measured->class_bytes + further * measured->bytes_per_class);
    core->metaspace_bytes = measured->metaspace_bytes >= 0 && measured->metaspace_per_class >= 0.0
                                ? plan_whole((double)measured->metaspace_bytes +
                                             further * measured->metaspace_per_class)
                                : core->classes_bytes;
}

/* Those that were counted at what they have, further ones at the application's mean. */
static struct jmethodid_cost loaded_ids(const struct plan_input *input,
                                        const struct plan_measured *measured,
                                        struct class_load load)
{
    struct jmethodid_load counted = measured->counted,
                          rest = {.classes = load.classes,
                                  .methods_per_class = load.methods_per_class,
                                  .loaders = load.loaders};
    if (counted.classes <= 0 || input->slot[PLAN_METHODS_PER_CLASS].given ||
        input->slot[PLAN_LOADERS].given)
        return jmethodid_cost(input->jdk_major, rest);
    if (counted.classes > load.classes) {
        counted.loaders =
            plan_whole((double)counted.loaders * (double)load.classes / (double)counted.classes);
        counted.classes = load.classes;
    }
    struct jmethodid_cost cost =
        jmethodid_cost_counted(input->jdk_major, counted, measured->counted_slots);
    rest.classes -= counted.classes;
    rest.loaders -= counted.loaders;
    struct jmethodid_cost further = jmethodid_cost(input->jdk_major, rest);
    jmethodid_cost_add(&cost, &further);
    return cost;
}

static void jmethod_ids(struct plan_core *core, const struct plan_input *input,
                        const struct plan_measured *measured)
{
    struct class_load load = class_load_of(input, core->classes);
    core->ids = loaded_ids(input, measured, load);
    int64_t churned = plan_whole(plan_input_churned(input));
    /* Where the churned ones have loaders of their own, these are churned with them. */
    double each = fmax(1.0, (double)load.classes / (double)load.loaders);
    struct jmethodid_cost gone = jmethodid_cost(
        input->jdk_major, (struct jmethodid_load){churned, load.methods_per_class,
                                                  plan_whole((double)churned / each)});
    core->ids_kept_bytes = jmethodid_kept_bytes(&gone);
    core->jmethod_ids_bytes =
        saturated_add(jmethodid_loaded_bytes(&core->ids), core->ids_kept_bytes);
}

static void plan_core_make(struct plan_core *core, const struct plan_input *input,
                           const struct plan_measured *measured)
{
    memset(core, 0, sizeof *core);
    core->classes = plan_whole(plan_input_get(input, PLAN_CLASSES) + plan_input_grown(input));
    classes(core, input, measured);
    jmethod_ids(core, input, measured);
    double stack = fmin(STACK_TOUCHED, plan_input_get(input, PLAN_STACK));
    if (measured->thread_bytes >= 0 && measured->threads > 0)
        stack = (double)measured->thread_bytes / (double)measured->threads;
    core->stacks_bytes = plan_whole(stack * plan_input_get(input, PLAN_THREADS));
    for (int i = 0; i < PLAN_COMPONENT_COUNT; i++) {
        struct plan_figures *figures = &core->figures[i];
        plan_component_formulas((enum plan_component)i, input, core->classes,
                                core->jmethod_ids_bytes, &figures->documented_bytes,
                                &figures->expected_bytes);
        figures->measured_bytes = measured->component_bytes[i];
        if (i != PLAN_PART_JMETHOD_IDS)
            core->profiler_bytes = saturated_add(core->profiler_bytes, figures->expected_bytes);
    }
}

/* --- what if ---------------------------------------------------------------------------------- */

/* What more of something means: the plan made again with one number changed, less the plan. */
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

static void plan_what_if(struct plan *plan)
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

/* --- the plan --------------------------------------------------------------------------------- */

#define MB (INT64_C(1) << 20)

static void sum_up(struct plan *plan)
{
    for (int s = 0; s < PLAN_SUM_COUNT; s++) {
        struct plan_figures *sum = &plan->sums[s];
        bool measured = false;
        *sum = (struct plan_figures){0, 0, 0};
        for (int i = 0; i < PLAN_COMPONENT_COUNT; i++) {
            const struct plan_figures *figures = &plan->figures[i];
            if (s == PLAN_SUM_WITHOUT_IDS && i == PLAN_PART_JMETHOD_IDS)
                continue;
            if (figures->documented_bytes > 0)
                sum->documented_bytes =
                    saturated_add(sum->documented_bytes, figures->documented_bytes);
            sum->expected_bytes = saturated_add(sum->expected_bytes, figures->expected_bytes);
            if (figures->measured_bytes >= 0) {
                sum->measured_bytes = saturated_add(sum->measured_bytes, figures->measured_bytes);
                measured = true;
            }
        }
        if (!measured)
            sum->measured_bytes = -1;
    }
}

static void take(struct plan *plan, const struct plan_core *core)
{
    plan->classes = core->classes;
    plan->ids = core->ids;
    plan->ids_kept_bytes = core->ids_kept_bytes;
    plan->formula = core->formula;
    plan->bytes_per_class = core->bytes_per_class;
    plan->classes_bytes = core->classes_bytes;
    plan->metaspace_bytes = core->metaspace_bytes;
    memcpy(plan->figures, core->figures, sizeof plan->figures);
    sum_up(plan);
}

static void size(struct plan *plan, const struct plan_core *core)
{
    const struct sizing_needs needs = {
        .input = &plan->input,
        .measured = &plan->measured,
        .classes = core->classes,
        .classes_bytes = core->classes_bytes,
        .metaspace_bytes = core->metaspace_bytes,
        .jmethod_ids_bytes = core->jmethod_ids_bytes,
        .profiler_bytes = core->profiler_bytes,
    };
    sizing_make(&plan->sizing, &needs);
}

static double ids_per_class(const struct plan *plan)
{
    return plan->classes > 0 ? (double)jmethodid_loaded_bytes(&plan->ids) / (double)plan->classes
                             : 0.0;
}

/* How fast it grows: by the recording's verdict; else by what comes and stays, and by what churn
 * leaves behind. */
static double growth_per_s(const struct plan *plan)
{
    const struct plan_measured *measured = &plan->measured;
    double horizon = plan_input_get(&plan->input, PLAN_HORIZON);
    double staying = plan_input_get(&plan->input, PLAN_GROWTH);
    if (measured->judged && !plan->input.slot[PLAN_GROWTH].given)
        return measured->growing ? measured->growth_bytes_per_s : 0.0;
    if (!plan->input.slot[PLAN_GROWTH].given && measured->loads_per_s >= 0.0 &&
        measured->loads_per_s > measured->unloads_per_s)
        staying =
            measured->loads_per_s - (measured->unloads_per_s > 0.0 ? measured->unloads_per_s : 0.0);
    double kept = horizon > 0.0 ? (double)plan->ids_kept_bytes / horizon : 0.0;
    return staying * (plan->bytes_per_class + ids_per_class(plan)) + kept;
}

static double seconds_until(int64_t limit, int64_t now, double per_s)
{
    return now >= limit ? 0.0 : (double)(limit - now) / per_s;
}

static void look_ahead(struct plan *plan)
{
    const struct plan_measured *measured = &plan->measured;
    /* The plan's sums are of its end; what it starts from is less by what comes in between. */
    double horizon = plan_input_get(&plan->input, PLAN_HORIZON);
    plan->bytes_per_s = growth_per_s(plan);
    if (plan->bytes_per_s <= 0.0)
        return;
    int64_t now = measured->rss_bytes >= 0 ? measured->rss_bytes : plan->sizing.total_bytes;
    if (measured->rss_bytes < 0)
        now -= (int64_t)(plan->bytes_per_s * horizon < (double)now ? plan->bytes_per_s * horizon
                                                                   : (double)now);
    if (plan->sizing.limit_bytes > 0) {
        plan->have_limit_time = true;
        plan->limit_s = seconds_until(plan->sizing.limit_bytes, now, plan->bytes_per_s);
    }
    if (measured->metaspace_max_bytes > 0 && measured->metaspace_bytes >= 0) {
        plan->have_metaspace_time = true;
        plan->metaspace_s = seconds_until(measured->metaspace_max_bytes, measured->metaspace_bytes,
                                          plan->bytes_per_s);
    }
}

__attribute__((format(printf, 2, 3))) static void caution(struct plan *plan, const char *format,
                                                          ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(plan->reason, sizeof plan->reason, format, values);
    va_end(values);
    plan->verdict = SUITABILITY_CAUTION;
}

static void judge(struct plan *plan)
{
    const struct plan_input *input = &plan->input;
    double churn = plan_input_get(input, PLAN_CHURN), growth = plan_input_get(input, PLAN_GROWTH);
    double gone = plan_input_churned(input);
    char who[64];
    snprintf(who, sizeof who, growth >= 100.0 ? "%.0f/s" : "%.3g/s", growth);
    struct suitability_facts facts = {
        .jdk_major = input->jdk_major,
        .methods_per_class = plan_input_get(input, PLAN_METHODS_PER_CLASS),
        .loaders = (int64_t)plan_input_get(input, PLAN_LOADERS),
        .ids_per_class = plan->measured.counted.classes > 0 ? ids_per_class(plan) : 0.0,
        .counted = true,
        .loaded = plan->classes + (int64_t)gone,
        .unloaded = (int64_t)gone,
        .explosion = growth >= SUITABILITY_LOADING_PER_S ? who : NULL,
        .level = plan->measured.level[0] != '\0' ? plan->measured.level : NULL,
        .level_excludes = plan->measured.level_excludes,
        .churn = churn >= SUITABILITY_LOADING_PER_S ? "this application" : NULL,
        .loading_per_s = plan->measured.judged ? -1.0 : plan->measured.loads_per_s,
    };
    struct suitability_verdict verdict;
    suitability_judge(&facts, &verdict);
    plan->load = suitability_load_of(facts.loaded);
    plan->verdict = verdict.suitability;
    plan->by_costs = verdict.by_costs;
    memcpy(plan->reason, verdict.reason, sizeof verdict.reason);
    memcpy(plan->costs_reason, verdict.costs_reason, sizeof verdict.costs_reason);
    if (plan->verdict != SUITABILITY_APPROPRIATE)
        return;
    const char *sentence = plan->measured.growth_sentence;
    if (growth > 0.0)
        caution(plan, "%s of classes are loaded and never unloaded: that has to end", who);
    else if (!plan->measured.judged && sentence[0] != '\0' &&
             plan->measured.basis == PLAN_BASIS_GROWTH)
        caution(plan, "classes came to its end, and whether that ends is not known: %s", sentence);
    else if (plan->measured.judged && plan->measured.growing)
        caution(plan, "it grows already: %s", sentence);
    else if (!plan->sizing.fits)
        caution(plan, "%s in all are expected, and the limit is %s",
                units_bytes(plan->sizing.total_bytes).text,
                units_bytes(plan->sizing.limit_bytes).text);
    else if (plan->have_limit_time && plan->limit_s < plan_input_get(input, PLAN_HORIZON))
        caution(plan, "the container's limit is reached before the end of the plan");
}

void plan_make(struct plan *plan, const struct plan_input *input,
               const struct plan_measured *measured)
{
    struct plan_core core;
    memset(plan, 0, sizeof *plan);
    plan->input = *input;
    if (measured != NULL)
        plan->measured = *measured;
    else
        plan_measured_none(&plan->measured);
    plan_core_make(&core, &plan->input, &plan->measured);
    take(plan, &core);
    size(plan, &core);
    look_ahead(plan);
    judge(plan);
    plan_what_if(plan);
}
