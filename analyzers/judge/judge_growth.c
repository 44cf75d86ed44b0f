/* Series that must not go on growing: a verdict for each (growth.def). */
#include "analyzers/judge/judge_internal.h"
#include "analyzers/native/account.h"
#include "analyzers/native/internal.h"
#include "analyzers/trend/trend_line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define TH_NONE       THRESHOLD_COUNT
#define THREADS_PER_H 60
/* Growth has to go on for so long; growth of many times its threshold for less. */
#define MIN_SPAN_MS   60000
#define QUICK_SPAN_MS 150000
#define STEEP_SPAN_MS 75000
#define STEEP_TIMES   8
/* Verdicts in a row that a series does not grow: then it has ended, and its alert with it. */
#define ENDED_LOOKS   3
/* Certain growth of Internal that is slower than the threshold of the slope is reported when it has come to this: a
 * leak of 1 MB/h after most of a day. */
#define SLOW_BYTES    (16 << 20)

static const struct growth_row ROWS[GROWTH_RULES] = {
#define GROWTH(id, finding, threshold, ask_ms, words, alert, expression)                           \
    [GROWTH_##id] = {FINDING_##finding, TH_##threshold, ask_ms, words},
#include "analyzers/judge/growth.def"
};

const struct growth_row *growth_row(enum growth_rule rule)
{
    return &ROWS[rule];
}

/* --- the value of a rule ---------------------------------------------------------------------- */

static bool of_category(const struct sample *sample, enum nmt_category category, int64_t *value)
{
    struct nmt_amount amount;
    *value = sample_get_nmt(sample, category, &amount) ? amount.committed_bytes : 0;
    return sample_has_nmt(sample);
}

/* Rows that no other rule is about, and that have no bound of their own. */
static bool of_others(const struct sample *sample, int jdk_major, int64_t *value)
{
    struct account account;
    int64_t jni = 0;
    if (!account_of(sample, jdk_major, &account) || !account.nmt)
        return false;
    if (internal_has_jni(jdk_major))
        of_category(sample, NMT_JNI, &jni);
    *value = account.bytes[ACCOUNT_JVM] - jni;
    return true;
}

static bool outside(const struct sample *sample, int jdk_major, int64_t *value)
{
    struct account account;
    if (!account_of(sample, jdk_major, &account))
        return false;
    *value = account.bytes[ACCOUNT_OUTSIDE];
    return true;
}

bool growth_value(enum growth_rule rule, const struct sample *sample, int jdk_major, int64_t *value)
{
    switch (rule) {
    case GROWTH_INTERNAL:
        return internal_bytes(sample, jdk_major, value);
    case GROWTH_HEAP:
        return sample_get(sample, SAMPLE_HEAP_USED_BYTES, value);
    case GROWTH_DIRECT: /* on 8 they are in Internal */
        return of_category(sample, NMT_OTHER, value);
    case GROWTH_THREADS:
        return sample_get(sample, SAMPLE_THREADS, value);
    case GROWTH_OUTSIDE:
        return outside(sample, jdk_major, value);
    case GROWTH_SHARED:
        return sample_get(sample, SAMPLE_RSS_SHARED_BYTES, value);
    case GROWTH_FILES:
        return sample_get(sample, SAMPLE_RSS_FILE_BYTES, value);
    case GROWTH_SYMBOLS:
        return of_category(sample, NMT_SYMBOL, value);
    case GROWTH_OTHERS:
        return of_others(sample, jdk_major, value);
    case GROWTH_RULES:
        break;
    }
    return false;
}

/* --- what is said of it ----------------------------------------------------------------------- */

/* The limit that the series, or RSS with it, comes to. 0: none is known. */
static int64_t limit_of(const struct growth *growth, const char **name, int64_t *room)
{
    struct nmt_amount heap;
    int64_t limit, rss;
    if (growth->sample == NULL || growth_is_count(growth->rule))
        return 0;
    if (growth->rule == GROWTH_HEAP) {
        *name = "the largest heap";
        if (!sample_get_nmt(growth->sample, NMT_JAVA_HEAP, &heap))
            return 0;
        *room = heap.reserved_bytes - growth->now;
        return heap.reserved_bytes;
    }
    *name = "the container's limit";
    if (!sample_get(growth->sample, SAMPLE_MEMORY_LIMIT_BYTES, &limit) ||
        !sample_get(growth->sample, SAMPLE_RSS_BYTES, &rss))
        return 0;
    *room = limit - rss;
    return limit;
}

static void say_limit(const struct growth *growth, char *out, size_t size, struct finding *finding)
{
    const char *name;
    int64_t room, limit = limit_of(growth, &name, &room);
    if (limit <= 0 || growth->per_h.value <= 0)
        return;
    int64_t seconds = (int64_t)((double)MAX(room, 0) / growth->per_h.value * 3600);
    text_add(out, size, "; %s (%s) is reached in %s at this pace", name, units_bytes(limit).text,
             units_figure("_s", seconds).text);
    finding_add_int(finding, "limit_bytes", limit);
    finding_add_int(finding, "limit_in_s", seconds);
}

void growth_finding(const struct growth *growth, struct texts *texts, struct finding *finding)
{
    const struct growth_row *row = growth_row(growth->rule);
    const struct verdict_interval *pace = &growth->per_h;
    const char *words = growth->words != NULL ? growth->words : row->words;
    bool counts = growth_is_count(growth->rule);
    const char *unit = counts ? "" : "_bytes_per_h";
    char title[FINDING_TITLE_MAX];
    *finding = finding_begin(texts, row->kind);
    snprintf(title, sizeof title, "%s: %s %s%s (95 %% interval %s to %s) over %s",
             finding_row(row->kind)->title, words, units_figure(unit, (int64_t)pace->value).text,
             counts ? " an hour" : "", units_figure(unit, (int64_t)pace->low).text,
             units_figure(unit, (int64_t)pace->high).text, units_duration(growth->span_ms).text);
    if (growth->state != NULL)
        text_add(title, sizeof title, ": %s", growth->state);
    if (counts)
        text_add(title, sizeof title, "; %+" PRId64 ", now %" PRId64, growth->grown, growth->now);
    else
        text_add(title, sizeof title, "; %s", units_growth(growth->grown).text);
    if (!counts && growth->now > 0) /* what is outside of NMT is estimated from below */
        text_add(title, sizeof title, ", now %s", units_bytes(growth->now).text);
    finding_add_int(finding, counts ? "threads_per_h" : "slope_bytes_per_h", (int64_t)pace->value);
    if (!counts) {
        finding_add_int(finding, "slope_low_bytes_per_h", (int64_t)pace->low);
        finding_add_int(finding, "slope_high_bytes_per_h", (int64_t)pace->high);
    }
    finding_add_int(finding, "span_s", growth->span_ms / 1000);
    finding_add_int(finding, counts ? "growth_threads" : "growth_bytes", growth->grown);
    finding_add_known(finding, counts ? "threads" : "level_bytes", growth->now);
    say_limit(growth, title, sizeof title, finding);
    finding_title(finding, "%s", title);
}

/* --- a few minutes ---------------------------------------------------------------------------- */

#define GOES_ON_SHARE 0.5
#define MS_PER_H      3600000.0

/* Full: every second point goes. */
void growth_points_add(struct growth_points *points, int64_t ms, int64_t value)
{
    if (points->count == 0)
        points->first_ms = ms;
    double x = (double)(ms - points->first_ms) / MS_PER_H;
    if (points->count > 0 && x <= points->x[points->count - 1])
        return;
    if (points->count == GROWTH_POINTS) {
        points->count /= 2;
        for (int i = 0; i < points->count; i++) {
            points->x[i] = points->x[2 * i];
            points->y[i] = points->y[2 * i];
        }
    }
    points->x[points->count] = x;
    points->y[points->count++] = (double)value;
}

bool growth_points_ask(const struct growth_points *points, struct growth *growth)
{
    struct trend_line line;
    int last = points->count - 1;
    if (!trend_line(points->x, points->y, points->count, 1, &line) || line.slope <= 0)
        return false;
    double reach = trend_line_reach(&line, 0.05);
    growth->per_h = (struct verdict_interval){line.slope, line.slope - reach, line.slope + reach};
    growth->span_ms = (int64_t)((points->x[last] - points->x[0]) * MS_PER_H);
    growth->grown = (int64_t)(points->y[last] - points->y[0]);
    growth->now = (int64_t)points->y[last];
    return growth->per_h.low > 0;
}

bool growth_points_go_on(const struct growth_points *points)
{
    int middle = 0, last = points->count - 1;
    while (middle < last && points->x[middle] < (points->x[0] + points->x[last]) / 2)
        middle++;
    double first = points->y[middle] - points->y[0], second = points->y[last] - points->y[middle];
    return second >= GOES_ON_SHARE * first;
}

/* --- series under watch ----------------------------------------------------------------------- */

bool judge_watched_create(struct watched *watched, const struct verdict_options *options)
{
    growth_alarm_init(&watched->alarm, GROWTH_ALARM_NEED, GROWTH_ALARM_OF);
    watched->series = verdict_create(options);
    return watched->series != NULL;
}

bool judge_growth_create(struct judge *judge)
{
    struct verdict_options options;
    for (int rule = 0; rule < GROWTH_RULES; rule++) {
        verdict_options_default(&options);
        if (rule != GROWTH_INTERNAL)
            options.min_span_ms = MIN_SPAN_MS;
        if (growth_is_count((enum growth_rule)rule)) {
            options.floor_bytes = judge_threshold(judge, TH_GROWTH_THREADS);
            options.floor_bytes_per_h = THREADS_PER_H;
        }
        if (!judge_watched_create(&judge->growth[rule], &options))
            return false;
    }
    verdict_options_default(&options);
    return judge_watched_create(&judge->class_metaspace_series, &options);
}

void judge_growth_destroy(struct judge *judge)
{
    for (int rule = 0; rule < GROWTH_RULES; rule++)
        verdict_destroy(judge->growth[rule].series);
    verdict_destroy(judge->class_metaspace_series.series);
}

void judge_watched_add(const struct judge *judge, struct watched *watched, int64_t bytes)
{
    verdict_feed(watched->series, judge->now_ms, bytes, VERDICT_MISSING);
    verdict_ask(watched->series, &watched->verdict);
    growth_alarm_add(&watched->alarm, &watched->verdict);
}

/* Certain growth that reaches the first documented step within an hour. */
static bool is_steep(const struct judge *judge, const struct verdict *verdict)
{
    return verdict->answer == VERDICT_GROWING &&
           verdict->slope_bytes_per_h.low >
               (double)judge_threshold(judge, TH_INTERNAL_INVESTIGATE_BYTES);
}

/* True when the verdict is a new one. The alarm of Internal has a slower schedule, unless the growth is steep: three
 * verdicts are then three minutes. */
static bool follow(const struct judge *judge, struct watched *watched, int64_t value,
                   const struct growth_row *row)
{
    int64_t loaded = judge->classes_loaded >= 0 ? judge->classes_loaded : VERDICT_MISSING;
    verdict_feed(watched->series, judge->now_ms, value, loaded);
    if (judge->now_ms - watched->asked_ms < row->ask_ms)
        return false;
    watched->asked_ms = judge->now_ms;
    verdict_ask(watched->series, &watched->verdict);
    watched->ended = watched->verdict.answer == VERDICT_NOT_GROWING ? watched->ended + 1 : 0;
    if (row->threshold != TH_NONE || judge->now_ms - watched->alarm_ms >= GROWTH_ALARM_ASK_MS ||
        is_steep(judge, &watched->verdict)) {
        watched->alarm_ms = judge->now_ms;
        growth_alarm_add(&watched->alarm, &watched->verdict);
    }
    return true;
}

static bool internal_is_relevant(const struct judge *judge, const struct verdict *verdict)
{
    int64_t span_ms = verdict->to_ms - verdict->from_ms;
    double low = verdict->slope_bytes_per_h.low;
    int64_t needed_ms = judge_threshold(judge, TH_INTERNAL_SLOPE_SPAN_S) * 1000;
    /* Segments are found by halves: one of 400 s at the least is there 800 s after it began. */
    if (span_ms < (is_steep(judge, verdict) ? needed_ms / 3 * 2 : needed_ms))
        return false;
    return low > (double)judge_threshold(judge, TH_INTERNAL_SLOPE_BYTES_PER_H) ||
           low * (double)span_ms / 3600000 > SLOW_BYTES;
}

/* Growth that is certain and large enough; of the heap that which an old collection has not ended, else it may be
 * garbage. */
static bool is_relevant(const struct judge *judge, enum growth_rule rule,
                        const struct verdict *verdict)
{
    int64_t span_ms = verdict->to_ms - verdict->from_ms;
    if (rule == GROWTH_INTERNAL)
        return internal_is_relevant(judge, verdict);
    if (rule == GROWTH_HEAP && judge->old_gc_ms <= verdict->from_ms)
        return false;
    double certain = verdict->slope_bytes_per_h.low * (double)span_ms / MS_PER_H;
    double least = (double)judge_threshold(judge, growth_row(rule)->threshold);
    return certain >= least &&
           span_ms >= (certain >= STEEP_TIMES * least ? STEEP_SPAN_MS : QUICK_SPAN_MS);
}

static void raise(struct judge *judge, enum growth_rule rule, const struct sample *sample,
                  int64_t value)
{
    const struct verdict *verdict = &judge->growth[rule].verdict;
    const char *meaning = internal_meaning(judge->identity.jdk_major);
    const struct growth growth = {
        .rule = rule,
        .words = rule == GROWTH_INTERNAL ? meaning : NULL,
        .per_h = verdict->slope_bytes_per_h,
        .span_ms = verdict->to_ms - verdict->from_ms,
        .grown = verdict->growth_bytes,
        .now = value,
        .sample = sample,
        .state = verdict_state_meaning(verdict->state),
    };
    struct finding finding;
    growth_finding(&growth, &judge->texts, &finding);
    finding_add_text(&finding, "state", verdict_state_name(verdict->state));
    if (rule == GROWTH_INTERNAL)
        finding_add_text(&finding, "internal_means", meaning);
    if (rule == GROWTH_INTERNAL && verdict->have_regressor) {
        finding_add_int(&finding, "explained_by_classes_percent",
                        (int64_t)(verdict->explained_share * 100 + 0.5));
        finding_add_int(&finding, "bytes_per_class", (int64_t)verdict->bytes_per_class);
        finding_add_int(&finding, "slope_left_bytes_per_h",
                        (int64_t)verdict->slope_left_bytes_per_h.value);
    }
    finding_add_int(&finding, "baseline_ms", judge->baseline_ms);
    finding_add_text(&finding, "warmup_ended", judge->warmup.reason);
    judge_raise(judge, &finding, "", verdict->from_ms);
}

static void feed(struct judge *judge, enum growth_rule rule, const struct sample *sample,
                 int64_t value)
{
    const struct growth_row *row = growth_row(rule);
    struct watched *watched = &judge->growth[rule];
    if (!follow(judge, watched, value, row))
        return;
    struct episode *episode = judge_episode(judge, row->kind, "");
    if (episode != NULL) {
        if (watched->ended >= ENDED_LOOKS)
            judge_clear(judge, episode);
    } else if (watched->alarm.active && watched->verdict.answer == VERDICT_GROWING &&
               judge->baseline_ms >= 0 && is_relevant(judge, rule, &watched->verdict)) {
        raise(judge, rule, sample, value);
    }
}

/* The heap has a new value after a collection only. */
static bool was_collected(struct judge *judge, const struct sample *sample)
{
    int64_t young, old = 0;
    if (!sample_get(sample, SAMPLE_GC_YOUNG, &young))
        return false;
    if (sample_get(sample, SAMPLE_GC_OLD, &old) && old != judge->old_gcs) {
        judge->old_gcs = old;
        judge->old_gc_ms = judge->now_ms;
    }
    bool ran = young + old != judge->gcs;
    judge->gcs = young + old;
    return ran;
}

void judge_growth_sample(struct judge *judge, const struct sample *sample)
{
    bool collected = was_collected(judge, sample);
    int64_t value;
    for (int i = 0; i < GROWTH_RULES; i++) {
        enum growth_rule rule = (enum growth_rule)i;
        if ((rule != GROWTH_HEAP || collected) &&
            growth_value(rule, sample, judge->identity.jdk_major, &value))
            feed(judge, rule, sample, value);
    }
    if (class_metaspace_bytes(sample, &value))
        follow(judge, &judge->class_metaspace_series, value, growth_row(GROWTH_INTERNAL));
}
