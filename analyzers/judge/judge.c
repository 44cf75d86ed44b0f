#include "analyzers/judge/judge_internal.h"

#include <stdio.h>
#include <stdlib.h>

struct judge *judge_create(const struct target_identity *identity,
                           const struct thresholds *thresholds, int64_t warmup_s)
{
    struct judge *judge = calloc(1, sizeof *judge);
    if (judge == NULL)
        return NULL;
    if (!judge_growth_create(judge)) {
        judge_destroy(judge);
        return NULL;
    }
    judge->identity = *identity;
    judge->identity.uptime_ms = judge_value(identity->uptime_ms);
    for (int i = 0; i < THRESHOLD_COUNT;
         i++) { /* a recording's header is data: keep to the limits */
        const struct threshold_row *row = threshold_row((enum threshold)i);
        int64_t value = thresholds->value[i];
        judge->thresholds.value[i] = value < row->min   ? row->min
                                     : value > row->max ? row->max
                                                        : value;
    }
    judge->baseline_ms = -1;
    judge->classes_loaded = judge->classes_unloaded = judge->gc_old = -1;
    judge->suspicious_ms = judge->names_ms = -1;
    warmup_init(&judge->warmup,
                warmup_s > JUDGE_VALUE_MAX / 1000 ? JUDGE_VALUE_MAX / 1000 : warmup_s,
                judge->thresholds.value[TH_WARMUP_MAX_S],
                judge->thresholds.value[TH_WARMUP_QUIET_PER_S], judge_value(identity->uptime_ms));
    return judge;
}

static void feed_sample(struct judge *judge, const struct sample *raw)
{
    struct sample copy = *raw;
    const struct sample *sample = &copy;
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++)
        copy.value[i] = judge_value(copy.value[i]);
    for (int i = 0; i < NMT_CATEGORY_COUNT; i++)
        copy.nmt[i].committed_bytes = judge_value(copy.nmt[i].committed_bytes);
    judge_classes_sample(judge, sample);
    bool ended = warmup_add(&judge->warmup, judge->now_ms,
                            sample_has(sample, SAMPLE_CLASSES_LOADED) ? judge->classes_loaded : -1);
    if (ended)
        judge->baseline_ms = judge->now_ms;
    judge_memory_sample(judge, sample);
    judge_agent_sample(judge, sample);
    if (ended)
        judge_memory_baseline(judge);
}

void judge_feed(struct judge *judge, const struct event *event, struct alerts *alerts)
{
    alerts->count = 0;
    judge->alerts = alerts;
    texts_free(&judge->texts);
    int64_t ms = judge_value(event->ms);
    if (ms > judge->now_ms)
        judge->now_ms = ms; /* a recording may be damaged: time does not go back */
    switch (event->kind) {
    case EVENT_SAMPLE:
        feed_sample(judge, &event->sample);
        break;
    case EVENT_NAMES:
        judge_names(judge, &event->names);
        break;
    case EVENT_LOADERS:
        judge_loaders(judge, &event->loaders);
        break;
    case EVENT_NOTE:
        judge_note(judge, event->text);
        break;
    case EVENT_COST:
    case EVENT_GONE:
    case EVENT_KIND_COUNT:
        break;
    }
    judge->alerts = NULL;
}

void judge_view(const struct judge *judge, struct judge_view *view)
{
    memset(view, 0, sizeof *view);
    view->warm = judge->warmup.over;
    view->baseline_ms = judge->baseline_ms;
    snprintf(view->warmup_reason, sizeof view->warmup_reason, "%s", judge->warmup.reason);
    view->have_rates = rate_over(&judge->loaded, 10000, &view->load_per_s) ||
                       rate_over(&judge->loaded, 2000, &view->load_per_s);
    if (!rate_over(&judge->unloaded, 60000, &view->unload_per_s))
        rate_over(&judge->unloaded, 10000, &view->unload_per_s);
    double loaded_per_s;
    if (rate_over(&judge->loaded, 60000, &loaded_per_s) ||
        rate_over(&judge->loaded, 10000, &loaded_per_s))
        view->net_per_s = loaded_per_s - view->unload_per_s;
    view->have_internal = judge->have_internal;
    view->internal_bytes = judge->internal_bytes;
    if (judge->have_internal_baseline)
        view->internal_growth_bytes = judge->internal_bytes - judge->internal_baseline_bytes;
    view->internal_verdict = judge->internal_series.verdict;
    view->class_metaspace_verdict = judge->class_metaspace_series.verdict;
    view->have_class_metaspace = judge->have_class_metaspace;
    view->class_metaspace_bytes = judge->class_metaspace_bytes;
    if (judge->have_class_metaspace_baseline)
        view->class_metaspace_growth_bytes =
            judge->class_metaspace_bytes - judge->class_metaspace_baseline_bytes;
    for (int i = 0; i < judge->episode_count; i++) {
        if (!judge->episodes[i].active)
            continue;
        view->active_alerts++;
        if (judge->episodes[i].finding.severity > view->worst_active)
            view->worst_active = judge->episodes[i].finding.severity;
    }
    view->worst_ever = judge->worst_ever;
}

bool judge_has_named(const struct judge *judge, const char *family)
{
    for (int i = 0; i < judge->episode_count; i++) {
        if (judge->episodes[i].active && strcmp(judge->episodes[i].finding.family, family) == 0)
            return true;
    }
    return false;
}

int judge_active_alerts(const struct judge *judge, struct alert *out, int max)
{
    int count = 0;
    for (int i = 0; i < judge->episode_count && count < max; i++) {
        const struct episode *episode = &judge->episodes[i];
        if (!episode->active)
            continue;
        out[count++] = (struct alert){.state = ALERT_RAISED,
                                      .ms = judge->now_ms,
                                      .started_ms = episode->raised_ms,
                                      .finding = episode->finding};
    }
    return count;
}

void judge_destroy(struct judge *judge)
{
    if (judge == NULL)
        return;
    judge_growth_destroy(judge);
    for (int i = 0; i < judge->episode_count; i++)
        texts_free(&judge->episodes[i].texts);
    texts_free(&judge->texts);
    free(judge->families);
    free(judge);
}
