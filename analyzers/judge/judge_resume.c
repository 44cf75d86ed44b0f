#include "analyzers/judge/judge_resume.h"

#include "analyzers/judge/judge_internal.h"

#include <stdio.h>

_Static_assert(JUDGE_MEMORY_EPISODES == EPISODES_MAX && JUDGE_MEMORY_LOADERS == LOADER_TYPES_MAX,
               "everything a judge holds finds room");

void judge_remember(const struct judge *judge, struct judge_memory *memory)
{
    memory->warm = judge->warmup.over;
    memory->baseline_ms = judge->baseline_ms;
    snprintf(memory->warmup_reason, sizeof memory->warmup_reason, "%s", judge->warmup.reason);
    memory->have_internal_baseline = judge->have_internal_baseline;
    memory->internal_baseline_bytes = judge->internal_baseline_bytes;
    memory->have_class_metaspace_baseline = judge->have_class_metaspace_baseline;
    memory->class_metaspace_baseline_bytes = judge->class_metaspace_baseline_bytes;
    memory->internal_growing = judge->internal_series.alarm.active;
    memory->worst_ever = judge->worst_ever;
    memory->loaders_have_baseline = judge->loaders_have_baseline;
    memory->loader_count = judge->loader_count;
    for (int i = 0; i < judge->loader_count; i++) {
        memcpy(memory->loaders[i].type, judge->loaders[i].type, sizeof memory->loaders[i].type);
        memory->loaders[i].baseline = judge->loaders[i].baseline;
    }
    memory->episode_count = 0;
    for (int i = 0; i < judge->episode_count; i++) {
        const struct episode *episode = &judge->episodes[i];
        if (!episode->active)
            continue;
        int at = memory->episode_count++;
        memcpy(memory->episodes[at].subject, episode->subject, sizeof episode->subject);
        memory->episodes[at].raised_ms = episode->raised_ms;
        memory->episodes[at].finding = episode->finding;
    }
}

void judge_memory_keep(struct judge_memory *memory, struct texts *texts)
{
    for (int i = 0; i < memory->episode_count; i++)
        finding_copy(&memory->episodes[i].finding, texts, &memory->episodes[i].finding);
}

static int limited(int count, int max)
{
    return count < 0 ? 0 : count > max ? max : count;
}

void judge_resume(struct judge *judge, const struct judge_memory *memory)
{
    if (memory->warm && memory->baseline_ms >= 0) {
        judge->warmup.over = true;
        judge->warmup.started = true;
        judge->baseline_ms = judge_value(memory->baseline_ms);
        snprintf(judge->warmup.reason, sizeof judge->warmup.reason, "%s", memory->warmup_reason);
    }
    judge->have_internal_baseline = memory->have_internal_baseline;
    judge->internal_baseline_bytes = judge_value(memory->internal_baseline_bytes);
    judge->have_class_metaspace_baseline = memory->have_class_metaspace_baseline;
    judge->class_metaspace_baseline_bytes = judge_value(memory->class_metaspace_baseline_bytes);
    if (memory->internal_growing) { /* as if all its looks had said so: it takes as many to clear */
        struct growth_alarm *alarm = &judge->internal_series.alarm;
        alarm->active = true;
        alarm->seen = alarm->of;
        alarm->recent = (UINT32_C(1) << alarm->of) - 1;
    }
    judge->worst_ever = memory->worst_ever;
    judge->loaders_have_baseline = memory->loaders_have_baseline;
    judge->loader_count = limited(memory->loader_count, LOADER_TYPES_MAX);
    for (int i = 0; i < judge->loader_count; i++) {
        struct loader_track *track = &judge->loaders[i];
        snprintf(track->type, sizeof track->type, "%s", memory->loaders[i].type);
        track->baseline = judge_value(memory->loaders[i].baseline);
        for (size_t r = 0; r < sizeof track->recent / sizeof *track->recent; r++)
            track->recent[r] = -1;
    }
    judge->episode_count = limited(memory->episode_count, EPISODES_MAX);
    for (int i = 0; i < judge->episode_count; i++) {
        struct episode *episode = &judge->episodes[i];
        episode->active = true;
        episode->kind = memory->episodes[i].finding.kind;
        episode->raised_ms = memory->episodes[i].raised_ms;
        episode->below_since_ms = -1;
        texts_free(&episode->texts);
        finding_copy(&episode->finding, &episode->texts, &memory->episodes[i].finding);
        snprintf(episode->subject, sizeof episode->subject, "%s", memory->episodes[i].subject);
    }
}
