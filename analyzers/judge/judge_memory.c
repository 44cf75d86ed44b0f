/* Growth of native memory since the baseline: the documented steps on Internal, Class +
 * Metaspace, and the distance to MaxMetaspaceSize. */
#include "analyzers/judge/judge_internal.h"

#include "analyzers/judge/level.h"
#include "analyzers/native/internal.h"

#include <inttypes.h>
#include <stdio.h>

#define MB 1048576.0

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
    struct episode *episode = judge_episode(judge, kind, "");
    if (episode != NULL) {
        judge_hold(judge, episode, growth < judge_clear_level(judge, which));
        return;
    }
    if (growth <= threshold)
        return;
    struct finding finding;
    finding_init(&finding, &judge->texts, kind);
    finding_title(&finding, "%s: %s is %.0f MB, +%.0f MB since the baseline (threshold +%.0f MB)",
                  finding_row(kind)->title, meaning, (double)judge->internal_bytes / MB,
                  (double)growth / MB, (double)threshold / MB);
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
    struct episode *episode = judge_episode(judge, FINDING_CLASS_METASPACE_GROWTH, "");
    if (episode != NULL) {
        judge_hold(judge, episode, growth < judge_clear_level(judge, TH_CLASS_METASPACE_BYTES));
        return;
    }
    if (growth <= threshold)
        return;
    struct finding finding;
    finding_init(&finding, &judge->texts, FINDING_CLASS_METASPACE_GROWTH);
    finding_title(&finding, "%s: +%.0f MB, now %.0f MB", finding_row(finding.kind)->title,
                  (double)growth / MB, (double)judge->class_metaspace_bytes / MB);
    finding_add_int(&finding, "class_metaspace_bytes", judge->class_metaspace_bytes);
    finding_add_int(&finding, "growth_bytes", growth);
    finding_add_int(&finding, "threshold_bytes", threshold);
    add_baseline_evidence(judge, &finding);
    judge_raise(judge, &finding, "", judge->baseline_ms);
}

static void metaspace_limit(struct judge *judge, int64_t max_bytes)
{
    int64_t floor;
    if (max_bytes <= 0 || !floor_value(&judge->metaspace_committed_floor, &floor))
        return;
    int64_t percent = (int64_t)((double)floor * 100.0 / (double)max_bytes);
    struct episode *episode = judge_episode(judge, FINDING_METASPACE_LIMIT, "");
    if (episode != NULL) {
        judge_hold(judge, episode,
                   percent * 100 < judge_threshold(judge, TH_METASPACE_LIMIT_PERCENT) *
                                       judge_threshold(judge, TH_CLEAR_PERCENT));
        return;
    }
    if (percent < judge_threshold(judge, TH_METASPACE_LIMIT_PERCENT))
        return;
    struct finding finding;
    finding_init(&finding, &judge->texts, FINDING_METASPACE_LIMIT);
    finding_title(&finding, "%s: %.0f MB committed of %.0f MB, %" PRId64 " %%",
                  finding_row(finding.kind)->title, (double)floor / MB, (double)max_bytes / MB,
                  percent);
    finding_add_int(&finding, "metaspace_committed_bytes", floor);
    finding_add_int(&finding, "metaspace_max_bytes", max_bytes);
    finding_add_int(&finding, "percent", percent);
    judge_raise(judge, &finding, "", judge->now_ms);
}

void judge_memory_sample(struct judge *judge, const struct sample *sample)
{
    int64_t bytes, max_bytes;
    if (sample_get(sample, SAMPLE_METASPACE_COMMITTED_BYTES, &bytes)) {
        floor_add(&judge->metaspace_committed_floor, bytes);
        if (sample_get(sample, SAMPLE_METASPACE_MAX_BYTES, &max_bytes))
            metaspace_limit(judge, max_bytes);
    }
    if (class_metaspace_bytes(sample, &bytes)) {
        judge->have_class_metaspace = true;
        judge->class_metaspace_bytes = bytes;
        floor_add(&judge->class_metaspace_floor, bytes);
        judge_growth_class_metaspace(judge, bytes);
    }
    bool internal_here = internal_bytes(sample, judge->identity.jdk_major, &bytes);
    if (internal_here) {
        judge->have_internal = true;
        judge->internal_bytes = bytes;
        judge_growth_internal(judge, bytes);
    }
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
