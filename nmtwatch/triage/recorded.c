#include "nmtwatch/triage/recorded.h"

#include "analyzers/judge/judge.h"
#include "nmtwatch/record/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool recorded_is(struct span text)
{
    return span_starts_with(text, SPAN_LITERAL("{\"type\":\"header\""));
}

static void on_alert(void *context, const struct alert *alert)
{
    struct recorded *recorded = context;
    if (alert->state == ALERT_RAISED && recorded->alert_count < TRIAGE_FINDINGS_MAX)
        recorded->alerts[recorded->alert_count++] = alert->finding;
}

/* A tick has what was asked for then: the last of each value is the look. */
static void take_sample(struct dossier *dossier, const struct sample *sample)
{
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        int64_t value;
        if (sample_get(sample, (enum sample_field)i, &value))
            sample_set(&dossier->sample, (enum sample_field)i, value);
    }
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++) {
        struct nmt_amount amount;
        if (sample_get_nmt(sample, (enum nmt_category)i, &amount))
            sample_set_nmt(&dossier->sample, (enum nmt_category)i, amount);
    }
    dossier->have_sample = true;
}

static void take_loaders(struct dossier *dossier, const struct loaders_event *event)
{
    if (dossier->loaders.have && !dossier->loaders_before.have)
        dossier->loaders_before = dossier->loaders;
    dossier->loaders = (struct dossier_loaders){.have = true,
                                                .loaders = event->loaders,
                                                .classes = event->classes,
                                                .row_count = event->row_count};
    memcpy(dossier->loaders.rows, event->rows, (size_t)event->row_count * sizeof *event->rows);
}

static void take_names(struct dossier *dossier, const struct names_event *event, int64_t ms)
{
    struct dossier_names *flow = &dossier->flow;
    if (event->method != CENSUS_TAP)
        return;
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

/* The judge is fed everything; growth counts from the end of warm-up, as it does there. */
static void take_event(struct recorded *recorded, const struct event *event, bool warm)
{
    struct dossier *dossier = &recorded->dossier;
    if (event->kind == EVENT_SAMPLE) {
        take_sample(dossier, &event->sample);
        if (warm && !dossier->have_before && sample_has_nmt(&dossier->sample)) {
            dossier->before = dossier->sample;
            dossier->have_before = true;
        }
    } else if (event->kind == EVENT_LOADERS) {
        take_loaders(dossier, &event->loaders);
    } else if (event->kind == EVENT_NAMES) {
        take_names(dossier, &event->names, event->ms);
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
    struct recording *recording = recording_open(path, error, error_size);
    if (recording == NULL)
        return NULL;
    const struct recording_header *header = recording_header(recording);
    struct recorded *recorded = calloc(1, sizeof *recorded);
    struct judge *judge = recorded == NULL ? NULL
                                           : judge_create(&header->target, &header->thresholds,
                                                          header->warmup_s, on_alert, recorded);
    if (judge == NULL) {
        snprintf(error, error_size, "%s: out of memory", path);
        free(recorded);
        recording_close(recording);
        return NULL;
    }
    recorded->dossier.identity = header->target;
    recorded->dossier.thresholds = header->thresholds;
    sample_clear(&recorded->dossier.sample);
    sample_clear(&recorded->dossier.before);
    struct event event;
    struct judge_view view = {0};
    int64_t before_ms = 0;
    while (recording_next(recording, &event)) {
        judge_feed(judge, &event);
        if (!view.warm)
            judge_view(judge, &view);
        bool had_before = recorded->dossier.have_before;
        take_event(recorded, &event, view.warm);
        if (!had_before && recorded->dossier.have_before)
            before_ms = event.ms;
        if (recorded->dossier.have_before && event.ms > before_ms)
            recorded->dossier.span_s = (double)(event.ms - before_ms) / 1000.0;
    }
    /* Whether names are a finding is for the judge to say: it saw them over time. */
    recorded->dossier.flow.have = recorded->dossier.flow.have && has_alert_of_names(recorded);
    recorded->unknown_lines = recording_unknown_lines(recording);
    if (recording_damage(recording) != NULL)
        snprintf(recorded->damage, sizeof recorded->damage, "%s", recording_damage(recording));
    judge_destroy(judge);
    recording_close(recording);
    return recorded;
}

void recorded_free(struct recorded *recorded)
{
    free(recorded);
}
