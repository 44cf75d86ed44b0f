/* Native memory: growth since the baseline (the documented steps on Internal, Class + Metaspace), the
 * distance to MaxMetaspaceSize, and the circuit breaker of the agent. */
#include "analyzers/judge/judge_internal.h"
#include "analyzers/judge/level.h"
#include "analyzers/native/internal.h"

#include <inttypes.h>
#include <stdio.h>

/* --- growth since the baseline ---------------------------------------------------------------- */

/* Minimum of the last few readings: what a GC cannot take away. */
static void floor_add(struct floor_window *window, int64_t value)
{
    if (window->count == FLOOR_POINTS) {
        memmove(window->value, window->value + 1, (FLOOR_POINTS - 1) * sizeof *window->value);
        window->count--;
    }
    window->value[window->count++] = value;
}

/* False until the window is full. */
static bool floor_value(const struct floor_window *window, int64_t *value)
{
    if (window->count < FLOOR_POINTS)
        return false;
    *value = window->value[0];
    for (int i = 1; i < FLOOR_POINTS; i++) {
        *value = MIN(*value, window->value[i]);
    }
    return true;
}

void judge_memory_baseline(struct judge *judge)
{
    if (judge->have_internal && !judge->have_internal_baseline) {
        judge->have_internal_baseline = true;
        judge->internal_baseline_bytes = judge->internal_bytes;
    }
    if (judge->have_class_metaspace && !judge->have_class_metaspace_baseline) {
        judge->have_class_metaspace_baseline = true;
        judge->class_metaspace_baseline_bytes = judge->class_metaspace_bytes;
    }
}

static void add_baseline_evidence(const struct judge *judge, struct finding *finding)
{
    finding_add_int(finding, "baseline_ms", judge->baseline_ms);
    finding_add_text(finding, "warmup_ended", judge->warmup.reason);
}

static void internal_step(struct judge *judge, enum finding_kind kind, enum threshold which,
                          const char *meaning)
{
    int64_t growth = judge->internal_bytes - judge->internal_baseline_bytes;
    int64_t threshold = judge_threshold(judge, which);
    if (judge_is_up(judge, kind, "", growth < judge_clear_level(judge, which)) ||
        growth <= threshold)
        return;
    struct finding finding = finding_begin(&judge->texts, kind);
    finding_title(&finding, "%s: %s is %s, %s since the baseline (threshold %s)",
                  finding_row(kind)->title, meaning, units_bytes(judge->internal_bytes).text,
                  units_growth(growth).text, units_growth(threshold).text);
    finding_add_text(&finding, "internal_means", meaning);
    finding_add_int(&finding, "internal_bytes", judge->internal_bytes);
    finding_add_int(&finding, "growth_bytes", growth);
    finding_add_int(&finding, "threshold_bytes", threshold);
    add_baseline_evidence(judge, &finding);
    judge_raise(judge, &finding, "", judge->baseline_ms);
}

static void class_metaspace(struct judge *judge)
{
    int64_t floor;
    if (!floor_value(&judge->class_metaspace_floor, &floor))
        return;
    int64_t growth = floor - judge->class_metaspace_baseline_bytes;
    int64_t threshold = judge_threshold(judge, TH_CLASS_METASPACE_BYTES);
    if (judge_is_up(judge, FINDING_CLASS_METASPACE_GROWTH, "",
                    growth < judge_clear_level(judge, TH_CLASS_METASPACE_BYTES)) ||
        growth <= threshold)
        return;
    struct finding finding = finding_begin(&judge->texts, FINDING_CLASS_METASPACE_GROWTH);
    finding_title(&finding, "%s: %s, now %s", finding_row(finding.kind)->title,
                  units_growth(growth).text, units_bytes(judge->class_metaspace_bytes).text);
    finding_add_int(&finding, "class_metaspace_bytes", judge->class_metaspace_bytes);
    finding_add_int(&finding, "growth_bytes", growth);
    finding_add_int(&finding, "threshold_bytes", threshold);
    add_baseline_evidence(judge, &finding);
    judge_raise(judge, &finding, "", judge->baseline_ms);
}

/* Rising and not slowing down: at this pace the seconds to the limit; -1: not so. */
#define PACE_MS 8000 /* two polls, 5 s apart */
static int64_t metaspace_left_s(const struct judge *judge, int64_t bytes, int64_t max_bytes)
{
    double per_s, before_per_s;
    const struct rate *rate = &judge->metaspace_rate;
    int64_t left = max_bytes - bytes;
    if (!rate_over(rate, PACE_MS, &per_s) || per_s <= 0)
        return -1;
    if (rate_before(rate, PACE_MS, PACE_MS, &before_per_s) && per_s < 0.7 * before_per_s)
        return -1;
    return left > 0 ? (int64_t)((double)left / per_s) : 0;
}

static void metaspace_limit(struct judge *judge, int64_t bytes, int64_t max_bytes)
{
    int64_t floor;
    if (max_bytes <= 0)
        return;
    judge->metaspace_left_s = metaspace_left_s(judge, bytes, max_bytes);
    /* Start-ups are steep, and stop: before warm-up has ended only the last quarter counts. */
    bool soon = judge->metaspace_left_s >= 0 &&
                judge->metaspace_left_s < judge_threshold(judge, TH_METASPACE_LIMIT_S) &&
                max_bytes - bytes <= max_bytes / (judge->warmup.over ? 2 : 4);
    /* On its way there is no floor to wait for. */
    if (soon)
        floor = bytes;
    else if (!floor_value(&judge->metaspace_committed_floor, &floor))
        return;
    int64_t percent = (int64_t)((double)floor * 100.0 / (double)max_bytes);
    int64_t limit = judge_threshold(judge, TH_METASPACE_LIMIT_PERCENT);
    if (judge_is_up(judge, FINDING_METASPACE_LIMIT, "",
                    !soon && percent * 100 < limit * judge_threshold(judge, TH_CLEAR_PERCENT)) ||
        (!soon && percent < limit))
        return;
    char when[80] = "";
    if (judge->metaspace_left_s >= 0)
        snprintf(when, sizeof when, "; at this pace it is reached in %s",
                 units_figure("_s", judge->metaspace_left_s).text);
    struct finding finding = finding_begin(&judge->texts, FINDING_METASPACE_LIMIT);
    finding_title(&finding, "%s: %s committed of %s, %" PRId64 " %%%s",
                  finding_row(finding.kind)->title, units_bytes(floor).text,
                  units_bytes(max_bytes).text, percent, when);
    finding_add_int(&finding, "metaspace_committed_bytes", floor);
    finding_add_int(&finding, "metaspace_max_bytes", max_bytes);
    finding_add_int(&finding, "percent", percent);
    finding_add_known(&finding, "limit_in_s", judge->metaspace_left_s);
    judge_raise(judge, &finding, "", judge->now_ms);
}

void judge_memory_sample(struct judge *judge, const struct sample *sample)
{
    int64_t bytes, max_bytes;
    if (sample_get(sample, SAMPLE_METASPACE_COMMITTED_BYTES, &bytes)) {
        floor_add(&judge->metaspace_committed_floor, bytes);
        rate_add(&judge->metaspace_rate, judge->now_ms, bytes);
        if (sample_get(sample, SAMPLE_METASPACE_MAX_BYTES, &max_bytes))
            metaspace_limit(judge, bytes, max_bytes);
    }
    if (class_metaspace_bytes(sample, &bytes)) {
        judge->have_class_metaspace = true;
        judge->class_metaspace_bytes = bytes;
        floor_add(&judge->class_metaspace_floor, bytes);
    }
    bool internal_here = internal_bytes(sample, judge->identity.jdk_major, &bytes);
    if (internal_here) {
        judge->have_internal = true;
        judge->internal_bytes = bytes;
    }
    judge_growth_sample(judge, sample);
    if (judge->baseline_ms < 0)
        return;
    judge_memory_baseline(judge); /* a baseline whose first NMT reading came late */
    if (judge->have_class_metaspace_baseline && sample_has_nmt(sample))
        class_metaspace(judge);
    if (!internal_here || !judge->have_internal_baseline)
        return;
    const char *meaning = internal_meaning(judge->identity.jdk_major);
    for (int step = 1; step <= LEVEL_STEPS; step++)
        internal_step(judge, level_step_kind(step), level_step_threshold(step), meaning);
}

/* --- the agent's circuit breaker -------------------------------------------------------------- */

/* An alert for each step it takes; they clear when it begins anew. */
void judge_agent_sample(struct judge *judge, const struct sample *sample)
{
    if (!sample_has(sample, SAMPLE_AGENT_BREAKER) &&
        !judge_episode_of_kind(judge, FINDING_AGENT_SHEDDING))
        return;
    int step = agent_breaker_step(sample);
    for (int i = 1; i <= AGENT_BREAKER_STEPS; i++)
        judge_is_up(judge, FINDING_AGENT_SHEDDING, agent_breaker_step_name(i), step < i);
    if (step == 0 ||
        judge_episode(judge, FINDING_AGENT_SHEDDING, agent_breaker_step_name(step)) != NULL)
        return;
    struct finding finding;
    agent_shedding_finding(sample, &judge->texts, &finding);
    judge_raise(judge, &finding, agent_breaker_step_name(step), judge->now_ms);
}
