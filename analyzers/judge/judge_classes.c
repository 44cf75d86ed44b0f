/*
 * Who loads classes, does it stop, and does anything come back: class-explosion, class-churn,
 * class-load-rate. (Class loaders: judge_loaders.c.)
 *
 * A family explodes when its loads fill each third of the time observed and the last third is not
 * slower than half the whole: a start-up burst, however large, fails that. Whether it is a leak or
 * churn is asked of the unloads up to the last unload: what was loaded after the last GC has not
 * had its chance yet.
 */
#include "analyzers/judge/judge_internal.h"

#include "analyzers/classes/family.h"
#include "analyzers/native/internal.h"

#include <inttypes.h>
#include <stdio.h>

#define SUSPICION_WINDOW_MS 6000
#define ALL_CLEAR_WINDOW_MS 10000
#define YOUNG_JVM_MS        30000 /* in its first moments a JVM must show an explosion for longer */
#define YOUNG_SPAN_MS       14000
/* At a high rate a GC that unloads is only seconds away: wait for it before saying "leak". */
#define FAST_RATE_PER_S     100
#define UNPROVEN_SPAN_MS    17000
#define LAST_THIRD_MIN      0.5
#define MINOR_SHARE         4 /* a family with less than a quarter of the leader's loads follows it */
#define SAME_COUNT_PART     10 /* counts that differ by less than a tenth are equal */
#define CHURN_UNLOADS_MIN   2  /* unload events before an explosion is called churn after all */
#define COST_CLASSES_MIN    40
#define AFTER_WARMUP_KEEP   0.7 /* second half of the span against the first: "does not fall" */

/* Share of the classes loaded since the suspicion began that the GCs gave back; -1: no unload yet.
 */
static int unloaded_percent(const struct judge *judge)
{
    if (judge->turnover.unload_events == 0)
        return -1;
    int64_t loads = judge->turnover.loaded_at_unload - judge->turnover.loaded;
    int64_t unloads = judge->turnover.unloaded_at_unload - judge->turnover.unloaded;
    if (loads <= 0 || unloads >= loads)
        return 100;
    return (int)(unloads * 100 / loads);
}

static bool is_churn(const struct judge *judge)
{
    return unloaded_percent(judge) >= judge_threshold(judge, TH_CHURN_UNLOADED_PERCENT);
}

static bool had_chance_to_unload(const struct judge *judge)
{
    return judge->turnover.unload_events > 0 ||
           (judge->gc_old >= 0 && judge->gc_old > judge->turnover.gc_old);
}

static bool bytes_per_class(const struct judge *judge, int64_t *bytes)
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

static void describe_unloading(const struct judge *judge, char *out, size_t size)
{
    int percent = unloaded_percent(judge);
    if (percent >= 0)
        snprintf(out, size, "%d %% of them unloaded again", percent);
    else if (had_chance_to_unload(judge))
        snprintf(out, size, "none unloaded by the GCs since");
    else
        snprintf(out, size, "none unloaded so far (no GC that unloads classes has run since)");
}

/* A family that is found to explode, and how fast. */
struct suspect {
    const struct family_row *row;
    double per_s;
    int64_t span_ms;
    bool follows; /* another suspect is the cause */
};

/* together: the families that grow with this one, ready to print. */
static void raise_family(struct judge *judge, const struct suspect *suspect, const char *together)
{
    const struct family_row *row = suspect->row;
    double per_s = suspect->per_s;
    int64_t span_ms = suspect->span_ms;
    const struct family *family = family_by_id(row->family);
    bool churn = is_churn(judge);
    struct finding finding;
    finding_init(&finding, churn ? FINDING_CLASS_CHURN : FINDING_CLASS_EXPLOSION);
    memcpy(finding.family, row->family, sizeof finding.family);

    char unloading[96], each[48] = "";
    describe_unloading(judge, unloading, sizeof unloading);
    int64_t class_bytes;
    bool have_bytes = !churn && bytes_per_class(judge, &class_bytes);
    if (have_bytes)
        snprintf(each, sizeof each, ", about %.1f KB each", (double)class_bytes / 1024.0);
    snprintf(finding.title, sizeof finding.title,
             "%s: %.100s (%.60s) defines %.1f classes/s for %" PRId64 " s%s; %s",
             churn ? "class churn" : "class explosion",
             family != NULL ? family->producer : "an unknown generator", row->family, per_s,
             span_ms / 1000, each, unloading);
    if (family != NULL)
        snprintf(finding.advice, sizeof finding.advice, "%s Why it grows: %s", family->fix,
                 family->cause);
    else
        snprintf(finding.advice, sizeof finding.advice,
                 "Find the code that defines %.100s and cache what it generates.", row->example);

    finding_add_real(&finding, "rate_per_s", per_s);
    finding_add_int(&finding, "loads", row->loads);
    finding_add_int(&finding, "unloads", row->unloads);
    finding_add_int(&finding, "names", row->names);
    finding_add_int(&finding, "max_same_name", row->max_same_name);
    finding_add_int(&finding, "observed_s", span_ms / 1000);
    if (have_bytes)
        finding_add_int(&finding, "bytes_per_class", class_bytes);
    finding_add_text(&finding, "producer", family != NULL ? family->producer : "");
    finding_add_text(&finding, "example", row->example);
    finding_add_text(&finding, "stem", row->stem);
    finding_add_text(&finding, "source", row->source);
    finding_add_text(&finding, "invokes", row->invokes);
    finding_add_text(&finding, "together_with", together);
    double jvm_per_s;
    if (rate_over(&judge->loaded, SUSPICION_WINDOW_MS, &jvm_per_s))
        finding_add_real(&finding, "jvm_load_per_s", jvm_per_s);
    int percent = unloaded_percent(judge);
    if (percent >= 0)
        finding_add_int(&finding, "unloaded_percent", percent);
    finding_add_text(&finding, "unloading", unloading);

    int64_t started_ms = judge->suspicious_ms >= 0 ? judge->suspicious_ms : judge->now_ms - span_ms;
    struct episode *nameless = judge_episode(judge, FINDING_CLASS_LOAD_RATE, "");
    if (nameless != NULL)
        judge_clear(judge, nameless); /* it has a name now */
    judge_raise(judge, &finding, row->family, started_ms);
}

/* --- names ------------------------------------------------------------------------------------ */

static struct family_track *track_of(struct judge *judge, const char *family)
{
    for (int i = 0; i < judge->family_count; i++) {
        if (strcmp(judge->families[i].family, family) == 0)
            return &judge->families[i];
    }
    if (judge->family_count == FAMILIES_MAX)
        return NULL;
    struct family_track *track = &judge->families[judge->family_count++];
    memset(track, 0, sizeof *track);
    track->stock = -1;
    snprintf(track->family, sizeof track->family, "%s", family);
    return track;
}

static void track_add(struct family_track *track, int64_t ms, int64_t repeating)
{
    if (track->count == FAMILY_POINTS) {
        int kept = 0;
        for (int i = 0; i < FAMILY_POINTS; i += 2)
            track->point[kept++] = track->point[i];
        track->count = kept;
    }
    track->point[track->count].ms = ms;
    track->point[track->count++].repeating = repeating;
}

/* The cumulative counter at a moment, linear between points; 0 when the tap began. */
static double track_at(const struct judge *judge, const struct family_track *track, double ms)
{
    double before_ms = (double)judge->tap_from_ms, before = 0;
    for (int i = 0; i < track->count; i++) {
        double at_ms = (double)track->point[i].ms, value = (double)track->point[i].repeating;
        if (at_ms >= ms)
            return at_ms > before_ms
                       ? before + (value - before) * (ms - before_ms) / (at_ms - before_ms)
                       : value;
        before_ms = at_ms;
        before = value;
    }
    return before;
}

static int64_t span_needed_ms(const struct judge *judge, const struct family *family, double per_s)
{
    int64_t span_ms = judge_threshold(judge, TH_FAMILY_SPAN_S) * 1000;
    if (family != NULL && family->role == FAMILY_SECONDARY)
        span_ms *= 2;
    if (judge->identity.uptime_ms + judge->now_ms < YOUNG_JVM_MS && span_ms < YOUNG_SPAN_MS)
        span_ms = YOUNG_SPAN_MS;
    if (per_s >= FAST_RATE_PER_S && !had_chance_to_unload(judge) && span_ms < UNPROVEN_SPAN_MS)
        span_ms = UNPROVEN_SPAN_MS;
    return span_ms;
}

/* True when the family's loads are an explosion by now; *per_s and *span_ms describe it. */
static bool explodes(const struct judge *judge, const struct family_track *track, double *per_s,
                     int64_t *span_ms)
{
    *span_ms = judge->now_ms - judge->tap_from_ms;
    if (*span_ms <= 0)
        return false;
    double from = (double)judge->tap_from_ms, third = (double)*span_ms / 3;
    double at1 = track_at(judge, track, from + third),
           at2 = track_at(judge, track, from + 2 * third);
    double at3 = track_at(judge, track, (double)judge->now_ms);
    *per_s = at3 * 1000.0 / (double)*span_ms;
    double last_per_s = (at3 - at2) * 1000.0 / third;
    double needed_per_s = (double)judge_threshold(judge, TH_FAMILY_RATE_PER_S);
    return at3 >= (double)judge_threshold(judge, TH_FAMILY_LOADS) && *per_s >= needed_per_s &&
           at1 > 0 && at2 > at1 && last_per_s >= needed_per_s &&
           last_per_s >= LAST_THIRD_MIN * *per_s &&
           *span_ms >= span_needed_ms(judge, family_by_id(track->family), *per_s);
}

static bool has_role(const struct family_row *row, enum family_role role)
{
    const struct family *family = family_by_id(row->family);
    return family != NULL && family->role == role;
}

static bool is_secondary(const struct family_row *row)
{
    return has_role(row, FAMILY_SECONDARY);
}

/* "Rule#$$Lambda/0x*" belongs to "Rule#". */
static bool starts_with_host(const char *name, const char *host)
{
    size_t len = strlen(host);
    return len > 0 && strncmp(name, host, len) == 0 && name[len] == '$';
}

/* Several families may grow for one reason: a host that is generated brings its lambdas, a plug-in
 * that is loaded again brings all its classes, a new interface brings a proxy. The reason is told
 * by names where they tell it; else by equal counts, and then a family that is known and has a fix
 * speaks for those that are not. */
static bool follows(const struct family_row *row, const struct family_row *leader)
{
    if (has_role(row, FAMILY_HOSTED))
        return starts_with_host(row->stem, leader->stem) ||
               starts_with_host(row->example, leader->example);
    if (family_by_id(row->family) != NULL || has_role(leader, FAMILY_HOSTED))
        return false;
    int64_t mine = judge_value(row->repeating), its = judge_value(leader->repeating);
    int64_t more = mine > its ? mine : its, less = mine > its ? its : mine;
    return more - less <= more / SAME_COUNT_PART + 1;
}

/* Marks as followers those suspects whose reason is a leader of the kind asked for. */
static void mark_followers(struct suspect *suspects, int count, bool by_known)
{
    for (int i = 0; i < count; i++) {
        const struct family_row *leader = suspects[i].row;
        bool known = family_by_id(leader->family) != NULL;
        for (int j = 0; j < count && known == by_known; j++) {
            bool hosted = has_role(suspects[j].row, FAMILY_HOSTED);
            if (j != i && (hosted || !suspects[i].follows) && follows(suspects[j].row, leader))
                suspects[j].follows = true;
        }
    }
}

static void raise_suspects(struct judge *judge, struct suspect *suspects, int count)
{
    mark_followers(suspects, count, true);
    mark_followers(suspects, count, false); /* the most frequent first: rows come in that order */
    for (int i = 0; i < count; i++) {
        if (suspects[i].follows)
            continue;
        char together[EVENT_NAME_MAX] = "";
        size_t len = 0;
        for (int j = 0; j < count; j++) {
            if (!suspects[j].follows || !follows(suspects[j].row, suspects[i].row))
                continue;
            const char *family = suspects[j].row->family;
            size_t needed = strlen(family) + (len > 0 ? 2 : 0);
            if (len + needed >= sizeof together)
                break;
            len += (size_t)snprintf(together + len, sizeof together - len, "%s%s",
                                    len > 0 ? ", " : "", family);
        }
        raise_family(judge, &suspects[i], together);
    }
}

static void judge_flow(struct judge *judge, const struct names_event *names)
{
    if (names->tap != judge->tap || judge_value(names->from_ms) != judge->tap_from_ms) {
        judge->tap = names->tap;
        judge->tap_from_ms = judge_value(names->from_ms);
        judge->family_count = 0;
    }
    int64_t producer_max = 0, any_max = 0;
    for (int i = 0; i < names->row_count; i++) {
        const struct family_row *row = &names->rows[i];
        struct family_track *track = track_of(judge, row->family);
        if (track == NULL)
            continue;
        int64_t repeating = judge_value(row->repeating);
        track_add(track, judge->now_ms, repeating);
        if (repeating > any_max)
            any_max = repeating;
        if (!is_secondary(row) && repeating > producer_max)
            producer_max = repeating;
    }
    bool producer_named = producer_max * MINOR_SHARE >= any_max && producer_max > 0;
    struct suspect suspects[EVENT_ROWS_MAX];
    int count = 0;
    for (int i = 0; i < names->row_count && count < EVENT_ROWS_MAX; i++) {
        const struct family_row *row = &names->rows[i];
        const struct family_track *track = track_of(judge, row->family);
        struct suspect suspect = {.row = row};
        if (track == NULL || (producer_named && is_secondary(row)) ||
            judge_value(row->repeating) * MINOR_SHARE < any_max)
            continue;
        if (explodes(judge, track, &suspect.per_s, &suspect.span_ms))
            suspects[count++] = suspect;
    }
    raise_suspects(judge, suspects, count);
}

/* A stock of live classes: growth between two of them, or, when there is only one, a family that
 * holds most of what was loaded since the suspicion began. */
static void judge_stock(struct judge *judge, const struct names_event *names)
{
    int64_t needed_per_s = judge_threshold(judge, TH_FAMILY_RATE_PER_S);
    int64_t needed = judge_threshold(judge, TH_FAMILY_LOADS);
    struct suspect suspects[EVENT_ROWS_MAX];
    int count = 0;
    for (int i = 0; i < names->row_count && count < EVENT_ROWS_MAX; i++) {
        const struct family_row *row = &names->rows[i];
        struct family_track *track = track_of(judge, row->family);
        if (track == NULL)
            continue;
        int64_t repeating = judge_value(row->repeating);
        int64_t grown = -1, span_ms = 0;
        if (track->stock >= 0) {
            grown = repeating - track->stock;
            span_ms = judge->now_ms - track->stock_ms;
        } else if (judge->suspicious_ms >= 0 && judge->classes_loaded >= 0) {
            int64_t loaded = judge->classes_loaded - judge->turnover.loaded;
            span_ms = judge->now_ms - judge->suspicious_ms;
            if (repeating * 2 >= loaded)
                grown = loaded < repeating ? loaded : repeating;
        }
        track->stock = repeating;
        track->stock_ms = judge->now_ms;
        double per_s = span_ms > 0 ? (double)grown * 1000.0 / (double)span_ms : 0;
        if (grown >= needed && per_s >= (double)needed_per_s && !is_secondary(row) &&
            span_ms >= judge_threshold(judge, TH_FAMILY_SPAN_S) * 1000)
            suspects[count++] = (struct suspect){.row = row, .per_s = per_s, .span_ms = span_ms};
    }
    raise_suspects(judge, suspects, count);
}

void judge_classes_names(struct judge *judge, const struct names_event *names)
{
    judge->names_ms = judge->now_ms;
    if (names->method == CENSUS_TAP)
        judge_flow(judge, names);
    else
        judge_stock(judge, names);
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
    }
    if (sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded)) {
        judge->classes_loaded = loaded;
        rate_add(&judge->loaded, judge->now_ms, loaded);
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
    bool churn = is_churn(judge);
    struct finding finding;
    char unloading[96];
    describe_unloading(judge, unloading, sizeof unloading);
    finding_init(&finding, churn ? FINDING_CLASS_CHURN : FINDING_CLASS_LOAD_RATE);
    snprintf(finding.title, sizeof finding.title, "%s: %.1f classes/s for %" PRId64 " s; %s",
             churn ? "class churn" : finding_row(finding.kind)->title, per_s, span_s, unloading);
    finding_add_real(&finding, "rate_per_s", per_s);
    finding_add_int(&finding, "observed_s", span_s);
    finding_add_int(&finding, "classes_loaded", judge->classes_loaded);
    finding_add_text(&finding, "unloading", unloading);
    finding_add_text(&finding, "warmup_ended", judge->warmup.reason);
    judge_raise(judge, &finding, "", judge->now_ms - span_s * 1000);
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
    int percent = unloaded_percent(judge);
    if (percent < 0 || judge->turnover.unload_events < CHURN_UNLOADS_MIN)
        return;
    int64_t churn_percent = judge_threshold(judge, TH_CHURN_UNLOADED_PERCENT);
    bool to_churn = episode->kind != FINDING_CLASS_CHURN && percent >= churn_percent;
    bool to_leak = episode->kind == FINDING_CLASS_CHURN && percent * 2 < churn_percent;
    if (!to_churn && !to_leak)
        return;
    struct finding finding = episode->finding;
    struct finding fresh;
    finding_init(&fresh, to_churn ? FINDING_CLASS_CHURN
                                  : (finding.family[0] != '\0' ? FINDING_CLASS_EXPLOSION
                                                               : FINDING_CLASS_LOAD_RATE));
    finding.kind = fresh.kind;
    finding.severity = fresh.severity;
    char unloading[96];
    describe_unloading(judge, unloading, sizeof unloading);
    snprintf(finding.title, sizeof finding.title, "%s: %.180s; %s",
             to_churn ? "class churn" : "class explosion",
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
    double first_half, second_half;
    if (!named && judge->warmup.over && judge->now_ms - judge->baseline_ms >= span_s * 1000 &&
        rate_over(&judge->loaded, span_s * 1000, &per_s) &&
        per_s >= (double)judge_threshold(judge, TH_CLASS_LOAD_RATE_PER_S) &&
        rate_before(&judge->loaded, span_s * 500, span_s * 500, &first_half) &&
        rate_over(&judge->loaded, span_s * 500, &second_half) &&
        second_half >= AFTER_WARMUP_KEEP * first_half)
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
