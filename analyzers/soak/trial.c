#include "analyzers/soak/trial_internal.h"

#include <stdlib.h>
#include <string.h>

/* A soak lasts minutes: a shorter span than this is too short even for it. */
#define MIN_SPAN_MS       60000
/* Floors for counts, in place of megabytes. */
#define COUNT_FLOOR       100
#define COUNT_FLOOR_PER_H 60

struct trial *trial_create(const struct target_identity *identity, const struct budgets *budgets)
{
    struct trial *trial = calloc(1, sizeof *trial);
    if (trial == NULL)
        return NULL;
    trial->identity = *identity;
    if (budgets != NULL)
        trial->budgets = *budgets;
    trial->baseline_ms = -1;
    trial->classes_loaded = VERDICT_MISSING;
    return trial;
}

static const struct budget *height_of(const struct trial *trial, enum soak_series series)
{
    for (int i = 0; i < trial->budgets.count; i++) {
        const struct budget *budget = &trial->budgets.budget[i];
        if (budget->series == series && budget->kind == BUDGET_HEIGHT)
            return budget;
    }
    return NULL;
}

static struct verdict_series *create_verdict(const struct trial *trial, enum soak_series series)
{
    struct verdict_options options;
    const struct budget *height = height_of(trial, series);
    verdict_options_default(&options);
    if (options.min_span_ms > MIN_SPAN_MS)
        options.min_span_ms = MIN_SPAN_MS;
    if (soak_series_unit(series) == SOAK_UNIT_COUNT) {
        options.floor_bytes = COUNT_FLOOR;
        options.floor_bytes_per_h = COUNT_FLOOR_PER_H;
    }
    if (height != NULL) {
        options.limit_bytes = (int64_t)height->amount;
        options.limit_name = "budget";
    }
    return verdict_create(&options);
}

static void feed(struct trial *trial, enum soak_series series, int64_t ms, int64_t value)
{
    struct trial_series *one = &trial->series[series];
    if (one->count++ == 0 || value > one->highest)
        one->highest = value;
    one->last = value;
    points_add(&one->points, ms, (double)value);
    if (trial->baseline_ms < 0)
        return;
    if (one->verdict == NULL)
        one->verdict = create_verdict(trial, series);
    if (one->baseline_count++ == 0)
        one->baseline = value;
    if (one->verdict != NULL)
        verdict_feed(one->verdict, ms, value,
                     soak_series_unit(series) == SOAK_UNIT_COUNT ? VERDICT_MISSING
                                                                 : trial->classes_loaded);
}

void trial_event(struct trial *trial, const struct event *event, const struct judge_view *view)
{
    if (event->ms < trial->last_ms)
        return; /* a damaged recording: time does not go back */
    trial->last_ms = event->ms;
    if (view->warm && trial->baseline_ms < 0)
        trial->baseline_ms = view->baseline_ms >= 0 ? view->baseline_ms : event->ms;
    memcpy(trial->warmup_reason, view->warmup_reason, sizeof trial->warmup_reason);
    if (event->kind != EVENT_SAMPLE)
        return;
    const struct sample *sample = &event->sample;
    int64_t value;
    if (sample_get(sample, SAMPLE_CLASSES_LOADED, &value) && value >= 0)
        trial->classes_loaded = value;
    if (sample_get(sample, SAMPLE_NMT_COMMITTED_BYTES, &value))
        trial->nmt_total_bytes = value;
    trial->have_nmt = trial->have_nmt || sample_has_nmt(sample);
    for (int series = 0; series < SOAK_SERIES_COUNT; series++) {
        if (soak_series_value((enum soak_series)series, sample, trial->identity.jdk_major, &value))
            feed(trial, (enum soak_series)series, event->ms, value);
    }
}

void trial_alert(struct trial *trial, const struct alert *alert)
{
    if (alert->state == ALERT_RAISED) {
        if (trial->alert_count < SOAK_ALERTS_MAX) {
            struct alert *kept = &trial->alerts[trial->alert_count++];
            *kept = *alert;
            finding_copy(&kept->finding, &trial->texts, &alert->finding);
        }
        return;
    }
    for (int i = trial->alert_count - 1; i >= 0; i--) {
        const struct finding *raised = &trial->alerts[i].finding;
        if (raised->kind == alert->finding.kind &&
            strcmp(raised->family, alert->finding.family) == 0 && !trial->alert_over[i]) {
            trial->alert_over[i] = true;
            return;
        }
    }
}

void trial_counter(struct trial *trial, int64_t ms, double value)
{
    /* What went back began anew: only what follows is one course. */
    if (trial->counter.count > 0 && value < trial->counter.at[trial->counter.count - 1].value)
        points_free(&trial->counter);
    points_add(&trial->counter, ms, value);
}

bool soak_finding_fails(enum finding_kind kind, bool over)
{
    switch (kind) {
    case FINDING_CLASS_EXPLOSION:
    case FINDING_METASPACE_LIMIT:
    case FINDING_INTERNAL_INVESTIGATE:
    case FINDING_INTERNAL_EXPLOSION:
    case FINDING_INTERNAL_UNACCEPTABLE:
        return true;
    case FINDING_CLASS_CHURN: /* work, not growth */
        return false;
    default:
        return !over;
    }
}

bool trial_has_failed(const struct trial *trial)
{
    for (int i = 0; i < trial->alert_count; i++) {
        if (soak_finding_fails(trial->alerts[i].finding.kind, true))
            return true;
    }
    for (int i = 0; i < trial->budgets.count; i++) {
        const struct budget *budget = &trial->budgets.budget[i];
        const struct trial_series *series = &trial->series[budget->series];
        if (budget->kind == BUDGET_HEIGHT && series->count > 0 &&
            (double)series->highest > budget->amount)
            return true;
    }
    return false;
}

const struct points *trial_points(const struct trial *trial, enum soak_series series)
{
    return trial->series[series].points.count > 0 ? &trial->series[series].points : NULL;
}

int64_t trial_last_ms(const struct trial *trial)
{
    return trial->last_ms;
}

int64_t trial_baseline_ms(const struct trial *trial)
{
    return trial->baseline_ms;
}

void trial_destroy(struct trial *trial)
{
    if (trial == NULL)
        return;
    for (int i = 0; i < SOAK_SERIES_COUNT; i++) {
        verdict_destroy(trial->series[i].verdict);
        points_free(&trial->series[i].points);
    }
    points_free(&trial->counter);
    texts_free(&trial->texts);
    free(trial);
}
