#include "nmtwatch/triage/recorded.h"

#include "nmtwatch/record/recording.h"

#include <stdio.h>
#include <stdlib.h>

bool recorded_is(struct span text)
{
    return span_starts_with(text, SPAN_LITERAL("{\"type\":\"header\""));
}

static void take_alerts(struct recorded *recorded, const struct alerts *alerts)
{
    for (int i = 0; i < alerts->count; i++) {
        const struct alert *alert = &alerts->alert[i];
        if (alert->state == ALERT_RAISED && recorded->alert_count < TRIAGE_FINDINGS_MAX)
            finding_copy(&recorded->alerts[recorded->alert_count++], &recorded->texts,
                         &alert->finding);
    }
}

static void take_loaders(struct jvm_facts *facts, const struct loaders_event *event)
{
    if (facts->loaders.have && !facts->loaders_before.have)
        facts->loaders_before = facts->loaders;
    facts->loaders = (struct facts_loaders){.have = true,
                                            .loaders = event->loaders,
                                            .classes = event->classes,
                                            .row_count = event->row_count};
    memcpy(facts->loaders.rows, event->rows, (size_t)event->row_count * sizeof *event->rows);
}

void recorded_names(struct facts_names *flow, const struct names_event *event, int64_t ms)
{
    flow->have = true;
    flow->method = event->method;
    flow->has_span = ms > event->from_ms;
    flow->span_s = (double)(ms - event->from_ms) / 1000.0;
    flow->loads = event->loads;
    flow->unloads = event->unloads;
    flow->row_count = event->row_count;
    for (int i = 0; i < event->row_count; i++) {
        flow->rows[i] = event->rows[i];
        flow->late_loads[i] = -1;
    }
}

void recorded_callers(struct jvm_facts *facts, const struct callers_event *event)
{
    if (event->row_count == 0)
        return;
    facts->caller_count = event->row_count < EVENT_ROWS_MAX ? event->row_count : EVENT_ROWS_MAX;
    memcpy(facts->callers, event->rows, (size_t)facts->caller_count * sizeof *event->rows);
}

/* The judge is fed everything; growth counts from the end of warm-up, as it does there. */
static void take_event(struct recorded *recorded, const struct event *event, bool warm)
{
    struct jvm_facts *facts = &recorded->facts;
    if (event->kind == EVENT_SAMPLE) {
        sample_merge(&facts->sample, &event->sample);
        facts->have_sample = true;
        if (warm && !facts->have_before && sample_has_nmt(&facts->sample)) {
            facts->before = facts->sample;
            facts->have_before = true;
        }
    } else if (event->kind == EVENT_LOADERS) {
        take_loaders(facts, &event->loaders);
    } else if (event->kind == EVENT_METHODS) {
        methods_keep(&facts->methods, &event->methods);
    } else if (event->kind == EVENT_HISTOGRAM) {
        facts_add_histogram(facts, &event->histogram);
    } else if (event->kind == EVENT_CALLERS) {
        recorded_callers(facts, &event->callers);
    } else if (event->kind == EVENT_NAMES && event->names.method == CENSUS_LOAD_LOG) {
        recorded_names(&facts->flow, &event->names, event->ms);
    }
}

static bool has_alert_of_names(const struct recorded *recorded)
{
    for (int i = 0; i < recorded->alert_count; i++) {
        enum finding_kind kind = recorded->alerts[i].kind;
        if (kind == FINDING_CLASS_EXPLOSION || kind == FINDING_CLASS_CHURN)
            return true;
    }
    return false;
}

struct recorded *recorded_read(const char *path, char *error, size_t error_size)
{
    struct replay replay;
    if (!replay_open(&replay, path, error, error_size))
        return NULL;
    struct recorded *recorded = calloc(1, sizeof *recorded);
    if (recorded == NULL) {
        snprintf(error, error_size, "%s: out of memory", path);
        replay_close(&replay);
        return NULL;
    }
    recorded->facts.identity = replay.header->target;
    recorded->facts.thresholds = replay.header->thresholds;
    sample_clear(&recorded->facts.sample);
    sample_clear(&recorded->facts.before);
    struct judge_view view = {0};
    int64_t before_ms = 0;
    while (replay_next(&replay)) {
        take_alerts(recorded, &replay.alerts);
        if (!view.warm)
            judge_view(replay.judge, &view);
        bool had_before = recorded->facts.have_before;
        take_event(recorded, &replay.event, view.warm);
        if (!had_before && recorded->facts.have_before)
            before_ms = replay.event.ms;
        if (recorded->facts.have_before && replay.event.ms > before_ms)
            recorded->facts.span_s = (double)(replay.event.ms - before_ms) / 1000.0;
    }
    /* Whether names are a finding is for the judge to say: it saw them over time. */
    recorded->facts.flow.have = recorded->facts.flow.have && has_alert_of_names(recorded);
    recorded->unknown_lines = recording_unknown_lines(replay.recording);
    if (recording_damage(replay.recording) != NULL)
        snprintf(recorded->damage, sizeof recorded->damage, "%s",
                 recording_damage(replay.recording));
    replay_close(&replay);
    return recorded;
}

void recorded_free(struct recorded *recorded)
{
    if (recorded != NULL)
        texts_free(&recorded->texts);
    free(recorded);
}
