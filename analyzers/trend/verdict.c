/* What is fed: a clock that may step back, values that may be missing, processes that restart. */
#include "analyzers/trend/verdict.h"

#include "analyzers/trend/verdict_internal.h"
#include "analyzers/trend/window.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB INT64_C(1048576)

/* Beyond thirty thousand years it is a damaged file; sums must not overflow. */
#define TIME_FAR (INT64_C(1) << 50)
#define MEND_FAR (INT64_C(1) << 60)

#define LOST_POINTS 10
#define LOST_MS     INT64_C(3600000)
#define LOST_RATIO  12

#define FALL_SCALE    0 /* of drawdown.h: single samples, averages would blur where it fell to */
#define FALL_SHARE    0.25
#define FALL_MISSES   0.1 /* how far from the first level, as a share of the fall */
#define FALL_LASTS_MS 120000
#define FALL_AFTER_MS 600000

static const struct {
    const char *name;
    const char *meaning;
} states[VERDICT_STATE_COUNT] = {
#define VERDICT_STATE(id, answer, meaning) [VERDICT_##id] = {#id, meaning},
#include "analyzers/trend/verdict_states.def"
};

const char *verdict_state_name(enum verdict_state state)
{
    return (unsigned)state < VERDICT_STATE_COUNT ? states[state].name : "?";
}

const char *verdict_state_meaning(enum verdict_state state)
{
    return (unsigned)state < VERDICT_STATE_COUNT ? states[state].meaning : "?";
}

void verdict_options_default(struct verdict_options *options)
{
    *options = (struct verdict_options){
        .floor_bytes = MB,
        .floor_percent = 0.5,
        .floor_bytes_per_h = 32768,
        .min_span_ms = 120000,
    };
}

struct verdict_series *verdict_create(const struct verdict_options *options)
{
    struct verdict_series *series = calloc(1, sizeof *series);
    if (series == NULL)
        return NULL;
    series->options = *options;
    series->regressor = VERDICT_MISSING;
    return series;
}

void verdict_destroy(struct verdict_series *series)
{
    if (series == NULL)
        return;
    history_free(&series->history);
    free(series);
}

static void forget(struct verdict_series *series, int64_t ms)
{
    history_free(&series->history);
    memset(&series->despike, 0, sizeof series->despike);
    memset(&series->drawdown, 0, sizeof series->drawdown);
    series->few.count = 0;
    series->life_from_ms = ms;
    series->fell_back = false;
}

static void begin_life(struct verdict_series *series, int64_t ms)
{
    forget(series, ms);
    series->regressor = VERDICT_MISSING;
    series->restarts++;
}

/* Nothing is known about most of the time: what was before says little about what is now. */
static bool is_lost_in_time(const struct verdict_series *series, int64_t now_ms)
{
    const struct history *history = &series->history;
    int64_t gap_ms = now_ms - history->last_ms, seen_ms = history->last_ms - history->first_ms;
    return history->count >= LOST_POINTS && gap_ms > LOST_MS && gap_ms / LOST_RATIO > seen_ms;
}

/* A clock that was set back continues from where it was, one usual gap later. */
static int64_t mended(struct verdict_series *series, int64_t ms)
{
    ms = ms > TIME_FAR ? TIME_FAR : ms < -TIME_FAR ? -TIME_FAR : ms;
    if (!series->begun) {
        series->begun = true;
        series->life_from_ms = ms;
        series->last_ms = ms;
        return ms;
    }
    if (series->clock_mend_ms > MEND_FAR) { /* this is no clock: from the beginning */
        series->clock_mend_ms = 0;
        series->last_ms = ms;
        begin_life(series, ms);
    }
    int64_t now_ms = ms + series->clock_mend_ms, gap_ms = now_ms - series->last_ms;
    if (gap_ms < 0) {
        series->clock_mend_ms += series->usual_gap_ms - gap_ms;
        now_ms = series->last_ms + series->usual_gap_ms;
    } else if (gap_ms > 0) {
        bool known = series->usual_gap_ms > 0; /* one long gap does not make it usual */
        series->usual_gap_ms =
            known && gap_ms > 2 * series->usual_gap_ms ? 2 * series->usual_gap_ms : gap_ms;
    }
    series->last_ms = now_ms;
    return now_ms;
}

/* Without a counter a restart shows as one fall, by a good part of the level, to where the life
 * began, from which the series does not come back at once. A sawtooth that begins at its lowest point
 * looks the same: so this is believed once, and what falls again is a sawtooth. */
bool verdict_has_fallen(const struct verdict_series *series)
{
    const struct drawdown_scale *scale = &series->drawdown.scale[FALL_SCALE];
    double depth = (double)scale->top - (double)scale->bottom, top = (double)scale->top;
    double now = (double)series->level - (double)series->origin;
    return !series->fell_back && scale->falls == 1 &&
           scale->last_fall_ms - series->life_from_ms >= FALL_AFTER_MS &&
           depth >= FALL_SHARE * ((double)series->origin + top) &&
           depth >= 4 * (double)series->options.floor_bytes &&
           fabs((double)scale->bottom) <= FALL_MISSES * depth && now <= top - 0.1 * depth;
}

static void notice_fall(struct verdict_series *series, int64_t now_ms)
{
    int64_t fell_ms = series->drawdown.scale[FALL_SCALE].last_fall_ms;
    if (now_ms - fell_ms < FALL_LASTS_MS || !verdict_has_fallen(series))
        return;
    history_forget_before(&series->history, fell_ms);
    series->life_from_ms = fell_ms;
    memset(&series->drawdown, 0, sizeof series->drawdown);
    series->restarts++;
    series->fell_back = true;
}

/* A value of the same time replaces the one before. */
static void add_few(struct verdict_series *series, int64_t now_ms, double value)
{
    struct few_points *few = &series->few;
    double x = (double)(now_ms - series->life_from_ms) / WINDOW_HOUR_MS;
    bool again = few->count > 0 && few->count <= FEW_POINTS_MAX && few->x[few->count - 1] >= x;
    if (!again && few->count <= FEW_POINTS_MAX)
        few->count++;
    if (few->count > FEW_POINTS_MAX)
        return;
    few->x[few->count - 1] = x;
    few->y[few->count - 1] = value;
}

bool verdict_feed(struct verdict_series *series, int64_t ms, int64_t bytes, int64_t regressor)
{
    int64_t now_ms = mended(series, ms);
    if (regressor != VERDICT_MISSING) {
        /* A counter of all classes ever loaded that falls belongs to another process. */
        if (series->regressor != VERDICT_MISSING && regressor < series->regressor)
            begin_life(series, now_ms);
        series->regressor = regressor;
    }
    if (bytes == VERDICT_MISSING)
        return true; /* a gap */
    if (is_lost_in_time(series, now_ms))
        forget(series, now_ms);
    if (series->history.count == 0 && series->despike.count == 0)
        series->origin = bytes;
    else if (bytes != series->level) {
        uint64_t step = bytes > series->level ? (uint64_t)bytes - (uint64_t)series->level
                                              : (uint64_t)series->level - (uint64_t)bytes;
        int64_t size = step > INT64_MAX ? INT64_MAX : (int64_t)step;
        if (series->least_step == 0 || size < series->least_step)
            series->least_step = size;
    }
    series->level = bytes;
    series->points += series->points < INT32_MAX;
    if (series->options.sparse)
        add_few(series, now_ms, (double)bytes - (double)series->origin);
    struct despike_point in = {now_ms, regressor, (double)bytes - (double)series->origin}, out;
    if (!despike_push(&series->despike, &in, &out))
        return true;
    if (!history_add(&series->history, out.ms, out.value, out.regressor))
        return false;
    drawdown_add(&series->drawdown, out.ms, out.value);
    notice_fall(series, out.ms);
    return true;
}

/* --- one sentence for people ------------------------------------------------------------------ */

struct sentence {
    char *text;
    size_t size;
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *sentence, const char *format,
                                                      ...)
{
    size_t room = sentence->size - sentence->length;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(sentence->text + sentence->length, room, format, arguments);
    va_end(arguments);
    if (written > 0)
        sentence->length += (size_t)written < room ? (size_t)written : room - 1;
}

struct duration {
    char text[24];
};

static struct duration duration(double seconds)
{
    static const struct {
        double below_s, unit_s;
        int decimals;
        const char *unit;
    } steps[] = {
        {120, 1, 0, "s"},
        {7200, 60, 0, "min"},
        {172800, 3600, 1, "h"},
        {86400 * 1000.0, 86400, 1, "days"},
    };
    struct duration out = {"years"};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (seconds < steps[i].below_s) {
            snprintf(out.text, sizeof out.text, "%.*f %s", steps[i].decimals,
                     seconds / steps[i].unit_s, steps[i].unit);
            break;
        }
    }
    return out;
}

/* MB/h to two decimals; -0.00 is 0. */
static double mb(double bytes)
{
    double value = bytes / MB;
    return fabs(value) < 0.005 ? 0 : value;
}

static void say_eta(struct sentence *sentence, const struct verdict_options *options,
                    const struct verdict *verdict)
{
    const char *limit = options->limit_name != NULL ? options->limit_name : "limit";
    if (verdict->eta_s <= 0)
        say(sentence, "; the %s is reached", limit);
    else if (isinf(verdict->eta_high_s))
        say(sentence, "; reaches the %s in %s, not before %s", limit, duration(verdict->eta_s).text,
            duration(verdict->eta_low_s).text);
    else
        say(sentence, "; reaches the %s in %s [%s, %s]", limit, duration(verdict->eta_s).text,
            duration(verdict->eta_low_s).text, duration(verdict->eta_high_s).text);
}

void verdict_write_sentence(const struct verdict_options *options, struct verdict *verdict)
{
    struct sentence sentence = {verdict->sentence, sizeof verdict->sentence, 0};
    const struct verdict_interval *slope = &verdict->slope_bytes_per_h;
    struct duration span = duration((double)(verdict->to_ms - verdict->from_ms) / 1000);
    say(&sentence, "%s: ", verdict_state_meaning(verdict->state));
    if (!verdict->have_slope) {
        say(&sentence, "%d points over %s", verdict->points, span.text);
        return;
    }
    say(&sentence, "%.2f MB/h, 95 %% [%.2f, %.2f], over %s", mb(slope->value), mb(slope->low),
        mb(slope->high), span.text);
    if (verdict->have_regressor && verdict->answer == VERDICT_GROWING)
        say(&sentence, "; %.0f %% of the growth goes with classes loaded, %.0f bytes each",
            verdict->explained_share * 100, verdict->bytes_per_class);
    if (verdict->have_eta)
        say_eta(&sentence, options, verdict);
}

/* --- the alarm -------------------------------------------------------------------------------- */

#define SLACK            0.5
#define LIMIT            8.0
#define STEP_MAX         4.0 /* one wild level is no trend */
#define LEVEL_POINTS     20  /* before mean and sigma are believed */
#define NEW_LEVEL_POINTS 40
#define FOLLOW           0.05 /* share of the newest level in the mean */
#define SIGMA_MIN        16384.0

bool cusum_add(struct cusum *cusum, double level, bool in_control)
{
    if (cusum->level_points == 0)
        cusum->mean = level;
    double away = level - cusum->mean, sigma = fmax(sqrt(cusum->variance), SIGMA_MIN);
    bool known = cusum->level_points >= LEVEL_POINTS;
    if (known)
        cusum->sum = fmax(0, cusum->sum + fmin(away / sigma, STEP_MAX) - SLACK);
    bool out = known && cusum->sum > LIMIT;
    cusum->out_points = out ? cusum->out_points + 1 : 0;
    if (in_control && !out) {
        double share = fmax(FOLLOW, 1.0 / (cusum->level_points + 1));
        cusum->variance += share * (away * away - cusum->variance);
        cusum->mean += share * away;
        cusum->level_points += cusum->level_points < LEVEL_POINTS;
    } else if (in_control && cusum->out_points > NEW_LEVEL_POINTS) {
        *cusum = (struct cusum){0}; /* another level, and no growth: it is learnt anew */
    }
    return out;
}

void growth_alarm_init(struct growth_alarm *alarm, int need, int of)
{
    memset(alarm, 0, sizeof *alarm);
    alarm->need = need;
    alarm->of = of;
}

enum growth_alarm_change growth_alarm_add(struct growth_alarm *alarm, const struct verdict *verdict)
{
    bool growing = verdict->answer == VERDICT_GROWING;
    bool level = verdict->answer == VERDICT_NOT_GROWING;
    uint32_t window = alarm->of >= 32 ? UINT32_MAX : (UINT32_C(1) << alarm->of) - 1;
    alarm->recent = (alarm->recent << 1 | growing) & window;
    alarm->seen += alarm->seen < alarm->of;
    if (verdict->answer == VERDICT_UNDECIDED)
        alarm->cusum = (struct cusum){0}; /* a start-up or a restart */
    bool out_of_control = verdict->answer != VERDICT_UNDECIDED &&
                          cusum_add(&alarm->cusum, (double)verdict->level_bytes, level);
    int need = growing && out_of_control ? 1 : alarm->need;
    if (!alarm->active && growing && __builtin_popcount(alarm->recent) >= need) {
        alarm->active = true;
        return GROWTH_ALARM_RAISED;
    }
    if (alarm->active && alarm->recent == 0) {
        alarm->active = false;
        return GROWTH_ALARM_CLEARED;
    }
    return GROWTH_ALARM_NONE;
}
