/*
 * How fast classes come and whether they go again, from the counters alone: class-load-rate, and
 * whether an explosion is a leak or churn; and the loaders they come with. (Who they are: judge_names.c.)
 *
 * Leak or churn is asked of the unloads up to the last unload: what was loaded after the last GC
 * has not had its chance yet.
 */
#include "analyzers/judge/judge_internal.h"
#include "analyzers/native/internal.h"

#include <inttypes.h>
#include <stdio.h>

#define ALL_CLEAR_WINDOW_MS 10000
#define CHURN_UNLOADS_MIN   2 /* unload events before an explosion is called churn after all */
#define COST_CLASSES_MIN    40
#define AFTER_WARMUP_KEEP   0.7 /* second half of the span against the first: "does not fall" */

int judge_unloaded_percent(const struct judge *judge)
{
    if (judge->turnover.unload_events == 0)
        return -1;
    int64_t loads = judge->turnover.loaded_at_unload - judge->turnover.loaded;
    int64_t unloads = judge->turnover.unloaded_at_unload - judge->turnover.unloaded;
    if (loads <= 0 || unloads >= loads)
        return 100;
    return (int)(unloads * 100 / loads);
}

bool judge_is_churn(const struct judge *judge)
{
    return judge_unloaded_percent(judge) >= judge_threshold(judge, TH_CHURN_UNLOADED_PERCENT);
}

bool judge_had_chance_to_unload(const struct judge *judge)
{
    return judge->turnover.unload_events > 0 ||
           (judge->gc_old >= 0 && judge->gc_old > judge->turnover.gc_old);
}

bool judge_bytes_per_class(const struct judge *judge, int64_t *bytes)
{
    if (!judge->have_cost_start || !judge->have_cost_end)
        return false;
    int64_t classes = judge->cost_end.live - judge->cost_start.live;
    int64_t grown = judge->cost_end.bytes - judge->cost_start.bytes;
    if (classes < COST_CLASSES_MIN || grown <= 0)
        return false;
    *bytes = grown / classes;
    return true;
}

void judge_describe_unloading(const struct judge *judge, char *out, size_t size)
{
    int percent = judge_unloaded_percent(judge);
    if (percent >= 0)
        snprintf(out, size, "%d %% of them unloaded again", percent);
    else if (judge_had_chance_to_unload(judge))
        snprintf(out, size, "none unloaded by the GCs since");
    else
        snprintf(out, size, "none unloaded so far (no GC that unloads classes has run since)");
}

/* --- counters --------------------------------------------------------------------------------- */

static void follow_suspicion(struct judge *judge)
{
    double per_s;
    double needed = (double)judge_threshold(judge, TH_SUSPICION_RATE_PER_S);
    if (!rate_over(&judge->loaded, SUSPICION_WINDOW_MS, &per_s))
        return;
    if (judge->suspicious_ms < 0 && per_s >= needed) {
        judge->suspicious_ms = judge->now_ms;
        judge->suspicious_own_ms = judge->own_ms;
        memset(&judge->turnover, 0, sizeof judge->turnover);
        judge->turnover.loaded = judge->classes_loaded;
        judge->turnover.unloaded = judge->classes_unloaded > 0 ? judge->classes_unloaded : 0;
        judge->turnover.gc_old = judge->gc_old;
    } else if (judge->suspicious_ms >= 0 &&
               per_s * 100 < needed * (double)judge_threshold(judge, TH_CLEAR_PERCENT)) {
        judge->suspicious_ms = -1;
        judge->have_cost_start = judge->have_cost_end = false;
    }
}

static void follow_counters(struct judge *judge, const struct sample *sample)
{
    int64_t loaded, unloaded;
    sample_get(sample, SAMPLE_GC_YOUNG, &judge->gc_young);
    sample_get(sample, SAMPLE_GC_OLD, &judge->gc_old);
    if (sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded)) {
        if (judge->suspicious_ms >= 0 && unloaded > judge->classes_unloaded &&
            sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded)) {
            /* The GC ran somewhere between the last sample and this one: take the middle. */
            judge->turnover.loaded_at_unload = (judge->classes_loaded + loaded) / 2;
            judge->turnover.unloaded_at_unload = unloaded;
            judge->turnover.unload_events++;
        }
        judge->classes_unloaded = unloaded;
        rate_add(&judge->unloaded, judge->now_ms, unloaded);
        rate_add(&judge->own_unloaded, judge->own_ms, unloaded);
    }
    if (sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded)) {
        judge->classes_loaded = loaded;
        rate_add(&judge->loaded, judge->now_ms, loaded);
        rate_add(&judge->own_loaded, judge->own_ms, loaded);
        follow_suspicion(judge);
    }
}

static void follow_cost(struct judge *judge, const struct sample *sample)
{
    int64_t bytes;
    if (judge->classes_loaded < 0 || judge->classes_unloaded < 0)
        return;
    if (!class_metaspace_bytes(sample, &bytes) &&
        (judge->have_class_metaspace || !sample_get(sample, SAMPLE_METASPACE_USED_BYTES, &bytes)))
        return;
    int64_t live = judge->classes_loaded - judge->classes_unloaded;
    if (judge->suspicious_ms < 0 || !judge->have_cost_start) {
        judge->have_cost_start = true;
        judge->cost_start.live = live;
        judge->cost_start.bytes = bytes;
    } else {
        judge->have_cost_end = true;
        judge->cost_end.live = live;
        judge->cost_end.bytes = bytes;
    }
}

static void raise_load_rate(struct judge *judge, double per_s, int64_t span_s)
{
    bool churn = judge_is_churn(judge);
    struct finding finding;
    char unloading[96];
    judge_describe_unloading(judge, unloading, sizeof unloading);
    finding = finding_begin(&judge->texts, churn ? FINDING_CLASS_CHURN : FINDING_CLASS_LOAD_RATE);
    finding_title(&finding, "%s: %.1f classes/s for %" PRId64 " s; %s",
                  churn ? "class churn" : finding_row(finding.kind)->title, per_s, span_s,
                  unloading);
    finding_add_real(&finding, "rate_per_s", per_s);
    finding_add_int(&finding, "observed_s", span_s);
    finding_add_int(&finding, "classes_loaded", judge->classes_loaded);
    finding_add_text(&finding, "unloading", unloading);
    finding_add_text(&finding, "warmup_ended", judge->warmup.reason);
    judge_raise(judge, &finding, "", judge->now_ms - span_s * 1000);
}

/* Loads that do not fall over the span, which is one of the JVM's own time. Classes that come in waves (a cache that is filled again) count
 * only as far as they are not unloaded again; a steady stream counts whole, and may be churn. */
static bool stays_high(const struct judge *judge, int64_t span_s, double *per_s)
{
    double first_half, second_half, unloads_per_s = 0;
    double needed = (double)judge_threshold(judge, TH_CLASS_LOAD_RATE_PER_S);
    if (!rate_over(&judge->own_loaded, span_s * 1000, per_s) || *per_s < needed ||
        !rate_before(&judge->own_loaded, span_s * 500, span_s * 500, &first_half) ||
        !rate_over(&judge->own_loaded, span_s * 500, &second_half) ||
        second_half < AFTER_WARMUP_KEEP * first_half)
        return false;
    bool steady =
        judge->suspicious_ms >= 0 && judge->own_ms - judge->suspicious_own_ms >= span_s * 500;
    return steady || !rate_over(&judge->own_unloaded, span_s * 1000, &unloads_per_s) ||
           *per_s - unloads_per_s >= needed;
}

static bool is_about_class_loads(const struct episode *episode)
{
    return episode->active &&
           (episode->kind == FINDING_CLASS_EXPLOSION || episode->kind == FINDING_CLASS_CHURN ||
            episode->kind == FINDING_CLASS_LOAD_RATE);
}

/* An explosion turns out to be churn when the GCs take it all back, and the other way round. */
static void reconsider(struct judge *judge, struct episode *episode)
{
    int percent = judge_unloaded_percent(judge);
    if (percent < 0 || judge->turnover.unload_events < CHURN_UNLOADS_MIN)
        return;
    int64_t churn_percent = judge_threshold(judge, TH_CHURN_UNLOADED_PERCENT);
    bool to_churn = episode->kind != FINDING_CLASS_CHURN && percent >= churn_percent;
    bool to_leak = episode->kind == FINDING_CLASS_CHURN && percent * 2 < churn_percent;
    if (!to_churn && !to_leak)
        return;
    struct finding finding, fresh;
    finding_copy(&finding, &judge->texts, &episode->finding);
    fresh = finding_begin(
        &judge->texts,
        to_churn ? FINDING_CLASS_CHURN
                 : (finding.family[0] != '\0' ? FINDING_CLASS_EXPLOSION : FINDING_CLASS_LOAD_RATE));
    finding.kind = fresh.kind;
    finding.severity = fresh.severity;
    char unloading[96];
    judge_describe_unloading(judge, unloading, sizeof unloading);
    finding_title(&finding, "%s: %.180s; %s", to_churn ? "class churn" : "class explosion",
                  finding.family[0] != '\0' ? finding.family : fresh.title, unloading);
    finding_add_int(&finding, "unloaded_percent_now", percent);
    char subject[EVENT_FAMILY_MAX];
    snprintf(subject, sizeof subject, "%s", episode->subject);
    int64_t started_ms = episode->raised_ms;
    judge_clear(judge, episode);
    judge_raise(judge, &finding, subject, started_ms);
}

void judge_classes_sample(struct judge *judge, const struct sample *sample)
{
    follow_counters(judge, sample);
    follow_cost(judge, sample);
    if (!sample_has(sample, SAMPLE_CLASSES_LOADED))
        return;

    double per_s;
    int64_t span_s = judge_threshold(judge, TH_CLASS_LOAD_SPAN_S);
    bool have_rate = rate_over(&judge->loaded, ALL_CLEAR_WINDOW_MS, &per_s);
    bool named = false;
    for (int i = 0; i < judge->episode_count; i++) {
        struct episode *episode = &judge->episodes[i];
        if (!is_about_class_loads(episode))
            continue;
        named = true;
        if (have_rate)
            judge_hold(judge, episode,
                       per_s * 100 < (double)(judge_threshold(judge, TH_FAMILY_RATE_PER_S) *
                                              judge_threshold(judge, TH_CLEAR_PERCENT)));
        if (episode->active)
            reconsider(judge, episode);
    }
    if (!named && judge->warmup.over && judge->own_ms - judge->baseline_own_ms >= span_s * 1000 &&
        stays_high(judge, span_s, &per_s))
        raise_load_rate(judge, per_s, span_s);
}

bool judge_wants_names(const struct judge *judge)
{
    if (judge->suspicious_ms < 0)
        return false;
    for (int i = 0; i < judge->episode_count; i++) {
        const struct episode *episode = &judge->episodes[i];
        if (is_about_class_loads(episode) && episode->finding.family[0] != '\0')
            return false;
    }
    double per_s;
    return rate_over(&judge->loaded, 4000, &per_s) &&
           per_s >= (double)judge_threshold(judge, TH_SUSPICION_RATE_PER_S) / 2;
}

/* --- class loaders of one type whose number grows --------------------------------------------- */

/* Redeploys that leak, plug-ins, a loader per script. */
static struct loader_track *loader_of(struct judge *judge, const char *type)
{
    for (int i = 0; i < judge->loader_count; i++) {
        if (strcmp(judge->loaders[i].type, type) == 0)
            return &judge->loaders[i];
    }
    if (judge->loader_count == LOADER_TYPES_MAX)
        return NULL;
    struct loader_track *track = &judge->loaders[judge->loader_count++];
    memset(track, 0, sizeof *track);
    snprintf(track->type, sizeof track->type, "%s", type);
    for (size_t i = 0; i < sizeof track->recent / sizeof *track->recent; i++)
        track->recent[i] = -1;
    return track;
}

/* What a GC between two censuses cannot explain: the smallest of the last three. */
static int64_t floor_of(const struct loader_track *track)
{
    int64_t floor = track->recent[0];
    for (size_t i = 1; i < sizeof track->recent / sizeof *track->recent; i++) {
        floor = MIN(floor, track->recent[i]);
    }
    return floor; /* -1 until three censuses were taken */
}

static void judge_type(struct judge *judge, const struct loader_track *track)
{
    int64_t floor = floor_of(track);
    int64_t threshold = judge_threshold(judge, TH_LOADER_GROWTH_COUNT);
    bool rising = track->recent[0] > track->recent[1] && track->recent[1] > track->recent[2];
    if (judge_is_up(judge, FINDING_LOADER_GROWTH, track->type,
                    floor - track->baseline < judge_clear_level(judge, TH_LOADER_GROWTH_COUNT)) ||
        floor < 2 * track->baseline || floor - track->baseline < threshold || !rising ||
        judge_episode_of_kind(judge, FINDING_CLASS_CHURN))
        return;
    struct finding finding = finding_begin(&judge->texts, FINDING_LOADER_GROWTH);
    finding_title(&finding, "%s: %s of %.150s, %s at the baseline",
                  finding_row(finding.kind)->title, units_count(track->recent[0]).text, track->type,
                  units_count(track->baseline).text);
    finding_add_text(&finding, "loader_type", track->type);
    finding_add_int(&finding, "loaders", track->recent[0]);
    finding_add_int(&finding, "baseline_loaders", track->baseline);
    judge_raise(judge, &finding, track->type, judge->baseline_ms >= 0 ? judge->baseline_ms : 0);
}

void judge_loaders(struct judge *judge, const struct loaders_event *loaders)
{
    bool baseline = !judge->loaders_have_baseline;
    judge->loaders_have_baseline = true;
    for (int i = 0; i < loaders->row_count; i++) {
        const struct loader_row *row = &loaders->rows[i];
        struct loader_track *track = loader_of(judge, row->type);
        if (track == NULL)
            continue;
        memmove(track->recent + 1, track->recent, sizeof track->recent - sizeof *track->recent);
        track->recent[0] = judge_value(row->loaders);
        if (baseline)
            track->baseline = track->recent[0];
        judge_type(judge, track);
    }
}

/* --- methods ---------------------------------------------------------------------------------- */

/* most: the family with most of them; NULL: not known. */
static void judge_number(struct judge *judge, int64_t methods, int64_t classes,
                         const struct method_family *most)
{
    int64_t threshold = judge_threshold(judge, TH_METHODS_COUNT);
    if (judge_is_up(judge, FINDING_MANY_METHODS, "",
                    methods < judge_clear_level(judge, TH_METHODS_COUNT)) ||
        methods < threshold)
        return;
    struct finding finding = finding_begin(&judge->texts, FINDING_MANY_METHODS);
    finding_title(&finding, "%s: %s in %s classes%s%.150s", finding_row(finding.kind)->title,
                  units_count(methods).text, units_count(classes).text,
                  most != NULL ? ", most of them of " : "", most != NULL ? most->family : "");
    finding_add_int(&finding, "methods", methods);
    finding_add_int(&finding, "classes", classes);
    if (most != NULL) {
        finding_add_text(&finding, "most_methods_family", most->family);
        finding_add_int(&finding, "most_methods", judge_value(most->methods));
        finding_add_int(&finding, "most_methods_classes", judge_value(most->classes));
    }
    finding_add_int(&finding, "threshold_methods", threshold);
    judge_raise(judge, &finding, "", judge->now_ms);
}

void judge_methods(struct judge *judge, const struct methods_event *methods)
{
    judge_number(judge, judge_value(methods->methods), judge_value(methods->classes),
                 methods->row_count > 0 ? &methods->rows[0] : NULL);
}
