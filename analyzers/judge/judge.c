#include "analyzers/judge/judge_internal.h"

#include <stdio.h>
#include <stdlib.h>

int64_t judge_threshold(const struct judge *judge, enum threshold which)
{
    return judge->thresholds.value[which];
}

int64_t judge_clear_level(const struct judge *judge, enum threshold which)
{
    /* Divide first: a threshold may be large enough for the product to overflow. */
    return judge->thresholds.value[which] / 100 * judge->thresholds.value[TH_CLEAR_PERCENT];
}

void floor_add(struct floor_window *window, int64_t value)
{
    if (window->count == FLOOR_POINTS) {
        memmove(window->value, window->value + 1, (FLOOR_POINTS - 1) * sizeof *window->value);
        window->count--;
    }
    window->value[window->count++] = value;
}

bool floor_value(const struct floor_window *window, int64_t *value)
{
    if (window->count < FLOOR_POINTS)
        return false;
    *value = window->value[0];
    for (int i = 1; i < FLOOR_POINTS; i++) {
        if (window->value[i] < *value)
            *value = window->value[i];
    }
    return true;
}

struct episode *judge_episode(struct judge *judge, enum finding_kind kind, const char *subject)
{
    for (int i = 0; i < judge->episode_count; i++) {
        struct episode *episode = &judge->episodes[i];
        if (episode->active && episode->kind == kind && strcmp(episode->subject, subject) == 0)
            return episode;
    }
    return NULL;
}

bool judge_episode_of_kind(const struct judge *judge, enum finding_kind kind)
{
    for (int i = 0; i < judge->episode_count; i++) {
        if (judge->episodes[i].active && judge->episodes[i].kind == kind)
            return true;
    }
    return false;
}

static void announce(const struct judge *judge, enum alert_state state, int64_t started_ms,
                     const struct finding *finding)
{
    struct alert alert = {
        .state = state, .ms = judge->now_ms, .started_ms = started_ms, .finding = *finding};
    if (judge->on_alert != NULL)
        judge->on_alert(judge->context, &alert);
}

void judge_raise(struct judge *judge, const struct finding *finding, const char *subject,
                 int64_t started_ms)
{
    struct episode *episode = judge_episode(judge, finding->kind, subject);
    if (episode != NULL) {
        episode->below_since_ms = -1;
        return;
    }
    for (int i = 0; i < judge->episode_count && episode == NULL; i++) {
        if (!judge->episodes[i].active)
            episode = &judge->episodes[i];
    }
    if (episode == NULL) {
        if (judge->episode_count == EPISODES_MAX)
            return; /* 48 alerts at once: one more says nothing new */
        episode = &judge->episodes[judge->episode_count++];
    }
    episode->active = true;
    episode->kind = finding->kind;
    episode->raised_ms = started_ms;
    episode->below_since_ms = -1;
    episode->finding = *finding;
    snprintf(episode->subject, sizeof episode->subject, "%s", subject);
    if (finding->severity > judge->worst_ever)
        judge->worst_ever = finding->severity;
    announce(judge, ALERT_RAISED, started_ms, finding);
}

void judge_clear(struct judge *judge, struct episode *episode)
{
    episode->active = false;
    announce(judge, ALERT_CLEARED, episode->raised_ms, &episode->finding);
}

void judge_hold(struct judge *judge, struct episode *episode, bool below)
{
    if (!below) {
        episode->below_since_ms = -1;
        return;
    }
    if (episode->below_since_ms < 0)
        episode->below_since_ms = judge->now_ms;
    if (judge->now_ms - episode->below_since_ms >= judge_threshold(judge, TH_CLEAR_AFTER_S) * 1000)
        judge_clear(judge, episode);
}

struct judge *judge_create(const struct target_identity *identity,
                           const struct thresholds *thresholds, int64_t warmup_s,
                           judge_alert_fn *on_alert, void *context)
{
    struct judge *judge = calloc(1, sizeof *judge);
    if (judge == NULL)
        return NULL;
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
    judge->on_alert = on_alert;
    judge->context = context;
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
    if (ended)
        judge_memory_baseline(judge);
}

void judge_feed(struct judge *judge, const struct event *event)
{
    int64_t ms = judge_value(event->ms);
    if (ms > judge->now_ms)
        judge->now_ms = ms; /* a recording may be damaged: time does not go back */
    switch (event->kind) {
    case EVENT_SAMPLE:
        feed_sample(judge, &event->sample);
        break;
    case EVENT_NAMES:
        judge_classes_names(judge, &event->names);
        break;
    case EVENT_LOADERS:
        judge_loaders(judge, &event->loaders);
        break;
    case EVENT_GONE:
        judge->gone = true;
        break;
    case EVENT_COST:
    case EVENT_NOTE:
    case EVENT_KIND_COUNT:
        break;
    }
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

int judge_active(const struct judge *judge, struct finding *out, int max)
{
    int count = 0;
    for (int i = 0; i < judge->episode_count && count < max; i++) {
        if (judge->episodes[i].active)
            out[count++] = judge->episodes[i].finding;
    }
    return count;
}

void judge_destroy(struct judge *judge)
{
    free(judge);
}
