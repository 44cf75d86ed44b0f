/*
 * How a verdict is found. Trailing windows of halving length are judged from the longest to the
 * shortest; the first one in which growth is certain, relevant, new and still going on speaks. When
 * there is none, the series does not grow now, and what it did before names its state.
 */
#include "analyzers/trend/verdict_internal.h"

#include "analyzers/trend/ascent.h"
#include "analyzers/trend/bend.h"

#include <math.h>
#include <string.h>

#define HOUR_MS       3600000.0
#define POINTS_MIN    12
#define BINS_MIN      8
#define WINDOWS_MAX   24
/* An alarm may be wrong with this probability a look; a stream is looked at some hundred
 * independent times a day. */
#define ALARM_P       1e-5
#define RISES_MIN     4.0
#define NEW_HEIGHT    0.5 /* share of the largest fall by which growth must exceed what was before */
#define PAUSE_RATIO   2.0
#define SLOWING_RATIO 0.8
#define FASTER_RATIO  1.25
#define MB            1048576.0

/* A stretch of the series up to now. */
struct window {
    int64_t from_ms;
    int n;
    double x[HISTORY_LEVEL]; /* hours since the life began */
    double y[HISTORY_LEVEL]; /* bytes from origin: means, or low points */
    double mean[HISTORY_LEVEL];
    double driver[HISTORY_LEVEL];
    bool low;
    struct trend_line line;
    struct ascent ascent;
};

struct look {
    const struct verdict_series *series;
    struct verdict *out;
    double quantum;
    double now_h;
    struct window life;
    bool have_bend;
    struct bend bend; /* of the whole life */
};

static int64_t rounded(double value)
{
    const double far = 9.2e18;
    return value > far ? INT64_MAX : value < -far ? -INT64_MAX : (int64_t)llround(value);
}

/* The window's bins as means or as low points, whichever is less noisy about its line. */
static bool measure(const struct look *look, int64_t from_ms, struct window *window)
{
    const struct history *history = &look->series->history;
    struct history_bin bins[HISTORY_LEVEL];
    int max = (int)fmin(HISTORY_LEVEL, (double)history_count_since(history, from_ms) / 2);
    memset(window, 0, sizeof *window);
    window->from_ms = from_ms;
    window->n = history_view(history, from_ms, bins, max);
    if (window->n < BINS_MIN)
        return false;
    double lows[HISTORY_LEVEL];
    bool differ = false;
    for (int i = 0; i < window->n; i++) {
        window->x[i] = bins[i].x_ms / HOUR_MS;
        window->mean[i] = window->y[i] = bins[i].mean;
        lows[i] = bins[i].low;
        window->driver[i] = bins[i].driver;
        differ = differ || bins[i].mean - bins[i].low > look->quantum;
    }
    if (!trend_line(window->x, window->y, window->n, look->quantum, &window->line))
        return false;
    struct trend_line low;
    if (differ && trend_line(window->x, lows, window->n, look->quantum, &low) &&
        low.doubtful.se < window->line.doubtful.se) {
        window->low = true;
        window->line = low;
        memcpy(window->y, lows, sizeof lows);
    }
    ascent_measure(window->x, window->y, window->n, &window->ascent);
    return true;
}

static double span_h(const struct window *window)
{
    return window->x[window->n - 1] - window->x[0];
}

static double floor_of(const struct look *look)
{
    const struct verdict_options *options = &look->series->options;
    double level = fabs((double)look->series->level) * options->floor_percent / 100;
    double floor = (double)options->floor_bytes;
    return fmax(floor, fmin(level, 8 * floor));
}

/* Higher than the series has been before the window, by more than what it falls anyhow. */
static bool is_new_height(const struct look *look, const struct window *window)
{
    const struct window *life = &look->life;
    double before = -INFINITY, end = trend_line_at(&window->line, window->x[window->n - 1]);
    for (int i = 0; i < life->n && life->x[i] < window->x[0]; i++)
        before = fmax(before, window->low ? life->y[i] : life->mean[i]);
    double from = trend_line_at(&window->line, window->x[0]);
    before = fmax(before, from);
    return end - before >= NEW_HEIGHT * fmax(life->ascent.fall, window->ascent.fall);
}

static bool grows(const struct look *look, const struct window *window)
{
    double certain = trend_line_certain(&window->line, ALARM_P);
    const struct ascent *ascent = &window->ascent;
    if (certain * span_h(window) < floor_of(look) ||
        certain < (double)look->series->options.floor_bytes_per_h || window->line.kendall_z < 3)
        return false;
    if (ascent->rises < RISES_MIN || ascent->pause_now > PAUSE_RATIO * ascent->longest_pause)
        return false;
    return is_new_height(look, window);
}

/* Is what this window grows no more than the end of a start-up? */
static bool is_start_up(const struct look *look, const struct window *window)
{
    if (!look->have_bend || look->bend.best != BEND_PLATEAU || look->bend.b <= 0)
        return false;
    double t = (window->x[0] + window->x[window->n - 1]) / 2 - look->life.x[0];
    double certain = trend_line_certain(&window->line, 1e-3);
    double beyond = certain - bend_plateau_slope(&look->bend, t) * 1.5;
    return beyond * span_h(window) < floor_of(look);
}

static enum verdict_state growth_state(const struct look *look, const struct window *window)
{
    struct bend bend;
    if (!bend_fit(window->x, window->y, window->n, look->quantum, &bend) || !bend.have_ratio)
        return VERDICT_LINEAR;
    if (bend.ratio > FASTER_RATIO && bend.ratio_low > 1)
        return VERDICT_ACCELERATING;
    bool slows = bend.ratio < SLOWING_RATIO && bend.ratio_high < 1;
    if (is_start_up(look, window))
        return VERDICT_WARMING;
    if (slows && bend.best == BEND_PLATEAU)
        return VERDICT_WARMING;
    return slows ? VERDICT_SLOWING : VERDICT_LINEAR;
}

static void tell_segment(const struct look *look, const struct window *window)
{
    struct verdict *out = look->out;
    double reach = trend_line_reach(&window->line, 0.05);
    out->from_ms = window->from_ms;
    out->have_slope = true;
    out->slope_bytes_per_h.value = window->line.slope;
    out->slope_bytes_per_h.low = window->line.slope - reach;
    out->slope_bytes_per_h.high = window->line.slope + reach;
}

/* From when on the series has stood where it stands now. */
static void tell_flat(struct look *look)
{
    struct window window;
    const struct window *life = &look->life;
    int from = life->n - 1;
    double last = 0, scale = 3 * life->line.scale;
    int tail = life->n / 8 + 1;
    for (int i = life->n - tail; i < life->n; i++)
        last += life->y[i] / tail;
    double band = fmax(floor_of(look) / 2, fmin(scale, life->ascent.fall));
    while (from > 0 && fabs(life->y[from - 1] - last) <= band)
        from--;
    if (from < life->n - BINS_MIN) {
        tell_segment(look, life);
        if (from > 0 &&
            measure(look, look->series->history.first_ms + (int64_t)(life->x[from] * HOUR_MS),
                    &window))
            tell_segment(look, &window);
    }
}

static bool is_sawtooth(const struct look *look)
{
    const struct window *life = &look->life;
    int turns = 0;
    double theta = fmax(floor_of(look), 0.5 * life->ascent.fall), extreme = life->mean[0];
    bool up = true;
    for (int i = 1; i < life->n; i++) {
        double y = life->mean[i];
        if (up ? y > extreme : y < extreme)
            extreme = y;
        else if (fabs(y - extreme) > theta) {
            turns++;
            up = !up;
            extreme = y;
        }
    }
    return life->low || turns >= 4;
}

static void decide(struct look *look)
{
    struct verdict *out = look->out;
    struct window window;
    const struct history *history = &look->series->history;
    double span_ms = (double)(history->last_ms - history->first_ms);
    look->have_bend =
        bend_fit(look->life.x, look->life.y, look->life.n, look->quantum, &look->bend);
    for (int i = 0; i < WINDOWS_MAX; i++, span_ms /= 2) {
        if (span_ms < (double)look->series->options.min_span_ms ||
            !measure(look, history->last_ms - (int64_t)span_ms, &window))
            break;
        if (!grows(look, &window))
            continue;
        out->state = growth_state(look, &window);
        tell_segment(look, &window);
        return;
    }
    tell_flat(look);
    if (is_sawtooth(look))
        out->state = VERDICT_SAWTOOTH;
    else if (look->life.ascent.largest_rise > floor_of(look) &&
             look->life.ascent.largest_rise > 0.5 * look->life.ascent.climb &&
             look->life.ascent.rises < RISES_MIN)
        out->state = VERDICT_STEPPED;
    else
        out->state = VERDICT_CONVERGED;
}

static enum verdict_answer answer_of(enum verdict_state state)
{
    static const enum verdict_answer answers[VERDICT_STATE_COUNT] = {
#define VERDICT_STATE(id, answer, meaning) [VERDICT_##id] = VERDICT_##answer,
#include "analyzers/trend/verdict_states.def"
#undef VERDICT_STATE
    };
    return answers[state];
}

static void tell_eta(const struct verdict_options *options, struct verdict *out)
{
    const struct verdict_interval *slope = &out->slope_bytes_per_h;
    double room = (double)options->limit_bytes - (double)out->level_bytes;
    if (options->limit_bytes <= 0 || out->answer != VERDICT_GROWING || !out->have_slope ||
        slope->value <= 0)
        return;
    room = room > 0 ? room : 0;
    out->have_eta = true;
    out->eta_s = room / slope->value * 3600;
    out->eta_low_s = room / slope->high * 3600;
    out->eta_high_s = slope->low > 0 ? room / slope->low * 3600 : INFINITY;
}

void verdict_ask(const struct verdict_series *series, struct verdict *out)
{
    const struct history *history = &series->history;
    memset(out, 0, sizeof *out);
    out->points = series->points;
    out->restarts = series->restarts;
    out->from_ms = series->life_from_ms;
    out->to_ms = series->last_ms;
    out->level_bytes = out->baseline_bytes = series->level;
    struct look look = {.series = series, .out = out};
    look.quantum = fmin((double)series->least_step, MB / 4);
    out->state = series->restarts > 0 ? VERDICT_RESTARTED : VERDICT_TOO_SHORT;
    if (history->count >= POINTS_MIN &&
        history->last_ms - history->first_ms >= series->options.min_span_ms &&
        measure(&look, history->first_ms, &look.life)) {
        decide(&look);
        out->baseline_bytes = rounded((double)series->origin + look.life.y[0]);
    }
    out->growth_bytes = rounded((double)out->level_bytes - (double)out->baseline_bytes);
    out->answer = answer_of(out->state);
    tell_eta(&series->options, out);
    verdict_write_sentence(&series->options, out);
}
