#include "analyzers/plan/plan.h"

#include "analyzers/parse/saturated.h"
#include "analyzers/plan/plan_core.h"
#include "analyzers/plan/what_if.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    double ids = plan->classes > 0
                     ? (double)jmethodid_loaded_bytes(&plan->ids) / (double)plan->classes
                     : 0.0;
    double kept = horizon > 0.0 ? (double)plan->ids_kept_bytes / horizon : 0.0;
    return staying * (plan->bytes_per_class + ids) + kept;
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
    if (growth > 0.0) {
        plan->verdict = SUITABILITY_CAUTION;
        snprintf(plan->reason, sizeof plan->reason,
                 "%s of classes come and stay: that has to end some time", who);
    } else if (!plan->measured.judged && plan->measured.growth_sentence[0] != '\0' &&
               plan->measured.basis == PLAN_BASIS_GROWTH) {
        plan->verdict = SUITABILITY_CAUTION;
        snprintf(plan->reason, sizeof plan->reason,
                 "classes came to its end, and nobody can tell whether that ends: %s",
                 plan->measured.growth_sentence);
    } else if (plan->measured.judged && plan->measured.growing) {
        plan->verdict = SUITABILITY_CAUTION;
        snprintf(plan->reason, sizeof plan->reason, "it grows already: %s",
                 plan->measured.growth_sentence);
    } else if (!plan->sizing.fits) {
        plan->verdict = SUITABILITY_CAUTION;
        snprintf(plan->reason, sizeof plan->reason,
                 "%" PRId64 " MB in all are expected, and the limit is %" PRId64 " MB",
                 plan->sizing.total_bytes / MB, plan->sizing.limit_bytes / MB);
    } else if (plan->have_limit_time && plan->limit_s < plan_input_get(input, PLAN_HORIZON)) {
        plan->verdict = SUITABILITY_CAUTION;
        snprintf(plan->reason, sizeof plan->reason,
                 "the container's limit is reached before the end of the plan");
    }
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
