/* What is fed: a clock that may step back, values that may be missing, processes that restart. */
#include "analyzers/trend/verdict_internal.h"

#include <math.h>
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
#undef VERDICT_STATE
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

/* A clock that was set back goes on from where it was, one usual gap later. */
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
 * began, from which the series does not come back at once. A tooth that begins at its lowest point
 * looks the same: so this is believed once, and what falls again is a tooth. */
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

void verdict_restart(struct verdict_series *series, int64_t ms)
{
    if (series->begun)
        begin_life(series, mended(series, ms));
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
    struct despike_point in = {now_ms, regressor, (double)bytes - (double)series->origin}, out;
    if (!despike_push(&series->despike, &in, &out))
        return true;
    if (!history_add(&series->history, out.ms, out.value, out.regressor))
        return false;
    drawdown_add(&series->drawdown, out.ms, out.value);
    notice_fall(series, out.ms);
    return true;
}
