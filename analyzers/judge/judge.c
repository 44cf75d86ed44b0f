#include "analyzers/judge/judge.h"

#include "analyzers/judge/judge_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* --- baselines and ends ------------------------------------------------------------------------ */

/* An active alert stays active until its figure, counted from here, has been low for long
 * enough. */
static void begin_anew(struct judge *judge)
{
    snprintf(judge->warmup.reason, sizeof judge->warmup.reason, "a baseline was asked for");
    judge->warmup.over = true;
    judge->baseline_ms = judge->now_ms;
    judge->baseline_own_ms = judge->own_ms;
    judge->have_internal_baseline = judge->have_class_metaspace_baseline = false;
    judge_memory_baseline(judge);
    judge->loaders_have_baseline = false;
    for (int i = 0; i < judge->loader_count; i++)
        judge->loaders[i].baseline = judge->loaders[i].recent[0];
}

/* "pid 4711 has ended: killed by signal 31 (SIGSYS), 3 ms after VM.native_memory" */
static void judge_gone(struct judge *judge, const char *text)
{
    const char *how = strstr(text, ": killed by signal ");
    struct finding finding;
    if (how == NULL || strstr(how, EVENT_SIGSYS) == NULL)
        return;
    finding = finding_begin(&judge->texts, FINDING_KILLED_BY_QUESTION);
    finding_title(&finding, "a JVM was %.200s: its system call filter (seccomp) does not allow it",
                  how + 2);
    judge_raise(judge, &finding, "", judge->now_ms);
}

/* --- events in, alerts out -------------------------------------------------------------------- */

struct judge *judge_create(const struct target_identity *identity,
                           const struct thresholds *thresholds, int64_t warmup_s)
{
    struct judge *judge = calloc(1, sizeof *judge);
    if (judge == NULL)
        return NULL;
    judge->identity = *identity;
    judge->identity.uptime_ms = judge_value(identity->uptime_ms);
    /* A recording's header is data: keep to the limits. */
    for (int i = 0; i < THRESHOLD_COUNT; i++) {
        const struct threshold_row *row = threshold_row((enum threshold)i);
        int64_t value = thresholds->value[i];
        judge->thresholds.value[i] = value < row->min   ? row->min
                                     : value > row->max ? row->max
                                                        : value;
    }
    if (!judge_growth_create(judge)) {
        judge_destroy(judge);
        return NULL;
    }
    judge->baseline_ms = judge->metaspace_left_s = -1;
    judge->classes_loaded = judge->classes_unloaded = judge->gc_young = judge->gc_old = -1;
    judge->suspicious_ms = judge->names_ms = judge->old_gc_ms = judge->gcs = -1;
    judge->pace = 1;
    warmup_init(&judge->warmup,
                warmup_s > JUDGE_VALUE_MAX / 1000 ? JUDGE_VALUE_MAX / 1000 : warmup_s,
                judge->thresholds.value[TH_WARMUP_MAX_S],
                judge->thresholds.value[TH_WARMUP_QUIET_PER_S], judge_value(identity->uptime_ms));
    return judge;
}

/* A JVM that gets a share of its CPU above this one keeps a generator's rate: an explosion must not wait for it. */
#define STARVED_SHARE 8

/* sample: NULL: another event. */
static void follow_own_time(struct judge *judge, const struct sample *sample)
{
    int64_t starved_ms, since_ms = judge->now_ms - judge->sampled_ms;
    bool measured = sample != NULL && sample_get(sample, SAMPLE_STARVED_MS, &starved_ms);
    if (!measured && (sample == NULL || !sample_has(sample, SAMPLE_CPU_MS))) {
        /* Between the looks at its threads it continues at the same pace. */
        int64_t own_ms = judge->sampled_own_ms + (int64_t)(judge->pace * (double)since_ms);
        judge->own_ms = MAX(judge->own_ms, own_ms);
        return;
    }
    if (measured) { /* it counts from 0 again after a restart */
        int64_t more_ms = judge_value(starved_ms) - judge->starved_seen_ms;
        judge->starved_seen_ms = judge_value(starved_ms);
        if (more_ms > since_ms - since_ms / STARVED_SHARE)
            judge->starved_ms += MIN(more_ms, since_ms);
    }
    judge->own_ms = MAX(judge->own_ms, judge->now_ms - judge->starved_ms);
    judge->pace = measured && since_ms > 0
                      ? (double)(judge->own_ms - judge->sampled_own_ms) / (double)since_ms
                      : 1;
    judge->sampled_ms = judge->now_ms;
    judge->sampled_own_ms = judge->own_ms;
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
    bool ended =
        warmup_add(&judge->warmup, judge->warmup.asked_s >= 0 ? judge->now_ms : judge->own_ms,
                   sample_has(sample, SAMPLE_CLASSES_LOADED) ? judge->classes_loaded : -1);
    if (ended) {
        judge->baseline_ms = judge->now_ms;
        judge->baseline_own_ms = judge->own_ms;
    }
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
    follow_own_time(judge, event->kind == EVENT_SAMPLE ? &event->sample : NULL);
    switch (event->kind) {
    case EVENT_SAMPLE:
        feed_sample(judge, &event->sample);
        break;
    case EVENT_NAMES:
        judge_names(judge, &event->names);
        break;
    case EVENT_CALLERS:
        judge_callers(judge, &event->callers);
        break;
    case EVENT_LOADERS:
        judge_loaders(judge, &event->loaders);
        break;
    case EVENT_HISTOGRAM:
        judge_heap(judge, &event->histogram);
        break;
    case EVENT_METHODS:
        judge_methods(judge, &event->methods);
        break;
    case EVENT_BASELINE:
        begin_anew(judge);
        break;
    case EVENT_GONE:
        judge_gone(judge, event->text);
        break;
    case EVENT_COST:
    case EVENT_NOTE:
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
    view->internal_verdict = judge->growth[GROWTH_INTERNAL].verdict;
    view->class_metaspace_verdict = judge->class_metaspace_series.verdict;
    view->metaspace_left_s = judge->metaspace_left_s;
    view->have_class_metaspace = judge->have_class_metaspace;
    view->class_metaspace_bytes = judge->class_metaspace_bytes;
    if (judge->have_class_metaspace_baseline)
        view->class_metaspace_growth_bytes =
            judge->class_metaspace_bytes - judge->class_metaspace_baseline_bytes;
    for (int i = 0; i < judge->episode_count; i++) {
        if (!judge->episodes[i].active)
            continue;
        view->active_alerts++;
        view->worst_active = MAX(view->worst_active, judge->episodes[i].finding.severity);
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
    judge_heap_destroy(judge);
    for (int i = 0; i < judge->episode_count; i++)
        texts_free(&judge->episodes[i].texts);
    texts_free(&judge->texts);
    free(judge->families);
    free(judge->callers);
    free(judge);
}

/* --- what outlives a restart ------------------------------------------------------------------ */

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
    memory->internal_growing = judge->growth[GROWTH_INTERNAL].alarm.active;
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
        judge->baseline_ms = judge->baseline_own_ms = judge_value(memory->baseline_ms);
        snprintf(judge->warmup.reason, sizeof judge->warmup.reason, "%s", memory->warmup_reason);
    }
    judge->have_internal_baseline = memory->have_internal_baseline;
    judge->internal_baseline_bytes = judge_value(memory->internal_baseline_bytes);
    judge->have_class_metaspace_baseline = memory->have_class_metaspace_baseline;
    judge->class_metaspace_baseline_bytes = judge_value(memory->class_metaspace_baseline_bytes);
    if (memory->internal_growing) { /* as if all its looks had said so: it takes as many to clear */
        struct growth_alarm *alarm = &judge->growth[GROWTH_INTERNAL].alarm;
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
