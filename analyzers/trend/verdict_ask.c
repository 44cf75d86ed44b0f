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
#ifndef ALARM_P
#define ALARM_P       3e-4
#endif
#define RISES_MIN     4.0
#define PLATEAU_DOUBT 10 /* in units of AICc */
#define NOISY_RISES_MIN 2.0
#define PAUSE_RATIO   2.0
#define LAST_QUARTER  0.15 /* of the usual growth, at least, to be growing still */
#define SLOWING_RATIO 0.8
#define FASTER_RATIO  1.25
/* A start-up with a time constant of up to an hour is usual: before an hour is over, growth that
 * could be one is not called a leak. */
#define START_UP_H    1.0
#define START_UP_MAX_H 2.0 /* a longer one must be seen to bend */
#define MB            1048576.0

/* A stretch of the series up to now. */
struct window {
    int64_t from_ms;
    int n;
    double x[HISTORY_LEVEL]; /* hours since the life began */
    double y[HISTORY_LEVEL]; /* bytes from origin: means, or low points */
    double mean[HISTORY_LEVEL];
    double lows[HISTORY_LEVEL];
    double driver[HISTORY_LEVEL];
    bool low;
    struct trend_line line; /* what is told: the median slope */
    struct trend_line growth; /* what is decided by: growth without its bend */
    struct ascent ascent;
    struct bend bend;
};

struct look {
    const struct verdict_series *series;
    struct verdict *out;
    double quantum;
    struct window life;
    double before; /* highest mean before the window that is being judged */
    bool have_start_up; /* a longer window is a start-up that this one may be the end of */
    struct bend start_up;
    double start_up_x;
};

static int64_t rounded(double value)
{
    const double far = 9.2e18;
    return value > far ? INT64_MAX : value < -far ? -INT64_MAX : (int64_t)llround(value);
}

/* The window's bins; false when they are too few. */
static bool take_window(const struct look *look, int64_t from_ms, struct window *window)
{
    const struct history *history = &look->series->history;
    struct history_bin bins[HISTORY_LEVEL];
    int max = (int)fmin(HISTORY_LEVEL, (double)history_count_since(history, from_ms) / 2);
    memset(window, 0, sizeof *window);
    window->from_ms = from_ms;
    window->n = history_view(history, from_ms, bins, max);
    for (int i = 0; i < window->n; i++) {
        window->x[i] = bins[i].x_ms / HOUR_MS;
        window->mean[i] = window->y[i] = bins[i].mean;
        window->lows[i] = bins[i].low;
        window->driver[i] = bins[i].driver;
    }
    return window->n >= BINS_MIN;
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

/* Median rise from the first half to the second. */
static double rough_rise(const double *y, int n)
{
    double rises[HISTORY_LEVEL / 2];
    int half = n / 2;
    for (int i = 0; i < half; i++)
        rises[i] = y[n - half + i] - y[i];
    return 2 * trend_median(rises, half);
}

/* By means or by low points, whichever is less noisy about its line. */
static bool measure(const struct look *look, struct window *window)
{
    struct trend_line low;
    if (!trend_line(window->x, window->mean, window->n, look->quantum, &window->line))
        return false;
    if (trend_line(window->x, window->lows, window->n, look->quantum, &low) &&
        low.doubtful.se < window->line.doubtful.se) {
        window->low = true;
        window->line = low;
        memcpy(window->y, window->lows, sizeof window->lows);
    }
    ascent_measure(window->x, window->y, window->n, &window->ascent);
    return true;
}

static bool is_certain(const struct look *look, const struct window *window,
                       const struct trend_line *line)
{
    double certain = trend_line_certain(line, ALARM_P);
    return certain * span_h(window) >= floor_of(look) &&
           certain >= (double)look->series->options.floor_bytes_per_h && line->kendall_z >= 3;
}

/* Jumps that all go up, many of them: not one of them is certain, but all together are. */
static bool is_staircase(const struct look *look, const struct window *window)
{
    const struct ascent *ascent = &window->ascent;
    return ascent->rises >= 7 && ascent->climb >= 2 * floor_of(look) &&
           ascent->fall <= ascent->climb / 10;
}

/* Certain and relevant growth, if nothing else were known. */
static bool may_grow(const struct look *look, struct window *window)
{
    double enough = floor_of(look) / 2;
    if (rough_rise(window->mean, window->n) < enough && rough_rise(window->lows, window->n) < enough)
        return false;
    if (!measure(look, window) ||
        !bend_fit(window->x, window->y, window->n, look->quantum, &window->bend))
        return false;
    window->growth = window->line;
    const struct bend *bend = &window->bend;
    if (bend->best != BEND_LINE) {
        double straight[HISTORY_LEVEL];
        for (int i = 0; i < window->n; i++)
            straight[i] = window->y[i] - bend_sag(bend, window->x[i] - window->x[0]);
        trend_line(window->x, straight, window->n, look->quantum, &window->growth);
        /* The median of the slopes of a curve depends a little on where its points are. */
        window->line.usual = window->growth.usual;
        window->line.usual.se +=
            0.015 * fabs(bend_slope(bend, bend->best, 0) - bend_slope(bend, bend->best, bend->span));
    }
    return is_certain(look, window, &window->growth) || is_staircase(look, window);
}

static double end_of(const struct window *window)
{
    double last[4];
    for (int i = 0; i < 4; i++)
        last[i] = window->mean[window->n - 4 + i];
    return trend_median(last, 4);
}

/* Higher than the series has been before the window, by more than what it falls anyhow. */
static bool is_new_height(const struct look *look, const struct window *window)
{
    double span_ms = span_h(window) * HOUR_MS, end = end_of(window);
    const struct wander_scale *usual = wander_at(&look->series->wander, span_ms / 10);
    double fall = usual->fall;
    if (end - look->before < 0.75 * fall)
        return false;
    if (fall < 0.25 * window->line.slope * span_h(window))
        return true;
    if (usual->falls >= 2 && usual->cycle_ms > 0 && span_ms >= 3.5 * (double)usual->cycle_ms)
        return true;
    double top = usual->falls > 0 ? (double)usual->top : -INFINITY;
    return end - fmax(look->before, top) >= 1.5 * fall;
}

/* Stands still twice as long as ever before; or grew next to nothing in its last quarter, and is not
 * one that grows in jumps. */
static bool has_stopped(const struct window *window)
{
    const struct ascent *ascent = &window->ascent;
    if (ascent->pause_now > PAUSE_RATIO * ascent->longest_pause ||
        (window->bend.best == BEND_STOPPED && ascent->pause_now > ascent->longest_pause))
        return true;
    int quarter = window->n / 4;
    double rise = rough_rise(window->y + window->n - quarter, quarter);
    return rise < 0.25 * LAST_QUARTER * window->growth.slope * span_h(window) &&
           ascent->pause_now > ascent->longest_pause;
}

/* One jump or two between levels. Under noise the envelope shows fewer rises than there are: then
 * residuals that forget speak for a line. */
static bool is_jump(const struct window *window)
{
    const struct ascent *ascent = &window->ascent;
    const struct bend_fit *fit = window->bend.fit;
    bool noisy = window->growth.scale > ascent->climb / 12 && window->growth.r < 0.6;
    if (ascent->rises < (noisy ? NOISY_RISES_MIN : RISES_MIN) || window->bend.best == BEND_JUMP)
        return true;
    return ascent->rises < RISES_MIN && fit[BEND_JUMP].aicc < fit[BEND_LINE].aicc;
}

/* Is what this window grows no more than the end of a start-up? */
static bool is_end_of_start_up(const struct look *look, const struct window *window)
{
    if (!look->have_start_up)
        return false;
    double t = (window->x[0] + window->x[window->n - 1]) / 2 - look->start_up_x;
    double certain = trend_line_certain(&window->growth, 1e-3);
    double beyond = certain - 1.5 * bend_slope(&look->start_up, BEND_PLATEAU, t);
    return beyond * span_h(window) < floor_of(look);
}

/* A plateau, or nearly as well as what fits best: who cannot tell should not alarm. */
static bool is_plateau(const struct bend *bend)
{
    const struct bend_fit *plateau = &bend->fit[BEND_PLATEAU], *both = &bend->fit[BEND_BOTH];
    if (plateau->b <= 0 || plateau->aicc > bend->fit[BEND_LINE].aicc - BEND_CLEARLY)
        return false;
    return plateau->aicc < bend->fit[bend->best].aicc + PLATEAU_DOUBT ||
           (bend->best == BEND_BOTH && both->d <= 0);
}

static void remember_start_up(struct look *look, const struct window *window,
                              const struct bend *bend)
{
    look->have_start_up = true;
    look->start_up = *bend;
    look->start_up_x = window->x[0];
}

/* A start-up that is still under way, or too young to be told from one. */
static bool is_starting_up(const struct look *look, const struct window *window)
{
    const struct bend *bend = &window->bend;
    double c_max = fmax(span_h(window), START_UP_MAX_H), age = look->life.x[look->life.n - 1];
    if (is_plateau(bend) && bend->fit[BEND_PLATEAU].c <= c_max)
        return true;
    return age < START_UP_H && bend_may_be_plateau(bend, window->x, window->y, window->n,
                                                   fmin(START_UP_H, 3 * span_h(window)));
}

/* A leak after a start-up, or one that began within the window: a shorter window will tell its rate
 * better. */
static bool is_mixed(const struct bend *bend)
{
    const struct bend_fit *both = &bend->fit[BEND_BOTH];
    double mean_slope = both->d + both->b * (1 - exp(-bend->span / both->c)) / bend->span;
    return (bend->best == BEND_BOTH && both->b > 0 && both->d < 0.7 * mean_slope) ||
           bend->best == BEND_LATE;
}

enum judgement { SAYS_NOTHING, MAY_GROW, GROWS };

/* What this window says; *state is set when it says that the series may grow, or does. */
static enum judgement judge_window(struct look *look, struct window *window,
                                   enum verdict_state *state)
{
    if (!may_grow(look, window) || is_end_of_start_up(look, window))
        return SAYS_NOTHING;
    const struct bend *bend = &window->bend;
    bool plateau = is_plateau(bend);
    double left = plateau ? bend_left(bend, bend->span) : 0;
    if (has_stopped(window) || is_jump(window) || (plateau && left < floor_of(look))) {
        if (plateau)
            remember_start_up(look, window, bend);
        return SAYS_NOTHING;
    }
    if (!is_new_height(look, window))
        return SAYS_NOTHING;
    if (is_starting_up(look, window))
        *state = VERDICT_WARMING;
    else if (bend->best == BEND_FASTER && bend->have_ratio && bend->ratio > FASTER_RATIO)
        *state = VERDICT_ACCELERATING;
    else if (bend->best != BEND_LINE && bend->have_ratio && bend->ratio < SLOWING_RATIO)
        *state = VERDICT_SLOWING;
    else
        *state = VERDICT_LINEAR;
    if (!is_mixed(bend))
        return GROWS;
    bool little = bend->best == BEND_BOTH && bend->fit[BEND_BOTH].d < 0.3 * window->growth.slope;
    return little ? SAYS_NOTHING : MAY_GROW;
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
            take_window(look, look->series->history.first_ms + (int64_t)(life->x[from] * HOUR_MS),
                        &window) &&
            measure(look, &window))
            tell_segment(look, &window);
    }
}

/* Falls of one size again and again, at one distance: what a collector or a day does. */
static bool is_sawtooth(const struct look *look)
{
    const struct wander *wander = &look->series->wander;
    for (int i = 0; i + 1 < WANDER_SCALES; i++) {
        const struct wander_scale *scale = &wander->scale[i];
        if (scale->falls >= 3 && (double)scale->fall >= floor_of(look) &&
            scale[1].fall >= 0.75f * scale->fall && scale->cycle_spread < 0.4f)
            return true;
    }
    return false;
}

static bool is_stepped(const struct look *look)
{
    const struct ascent *ascent = &look->life.ascent;
    double from_h = look->life.x[0], now_h = look->life.x[look->life.n - 1];
    return ascent->largest_rise > floor_of(look) && ascent->largest_rise > 0.2 * ascent->climb &&
           ascent->rises < RISES_MIN && ascent->largest_rise_x > from_h + (now_h - from_h) / 10;
}

/* Trailing windows of halving length, from the whole life on. */
static bool find_growth(struct look *look)
{
    const struct history *history = &look->series->history;
    struct verdict *out = look->out;
    double span_ms = (double)(history->last_ms - history->first_ms);
    struct window window = look->life;
    bool may = false;
    look->before = -INFINITY;
    for (;;) {
        enum verdict_state state;
        enum judgement judgement = judge_window(look, &window, &state);
        if (judgement != SAYS_NOTHING && (judgement == GROWS || !may)) {
            out->state = state;
            tell_segment(look, &window);
        }
        if (judgement == GROWS)
            return true;
        may = may || judgement == MAY_GROW;
        span_ms /= 2;
        int64_t from_ms = history->last_ms - (int64_t)span_ms;
        double from_h = (double)(from_ms - history->first_ms) / HOUR_MS;
        for (int i = 0; i < window.n && window.x[i] < from_h; i++)
            look->before = fmax(look->before, window.mean[i]);
        if (span_ms < (double)look->series->options.min_span_ms ||
            !take_window(look, from_ms, &window))
            return may;
    }
}

/* Rises so much that "level" would be wrong, and not yet so surely that "grows" would be right. */
static bool is_in_doubt(const struct look *look)
{
    const struct window *life = &look->life;
    double certain = trend_line_certain(&life->line, 0.01);
    return life->x[life->n - 1] < START_UP_H && !has_stopped(life) &&
           (certain * span_h(life) >= floor_of(look) || life->ascent.climb >= 2 * floor_of(look)) &&
           life->ascent.fall < life->ascent.climb / 3;
}

static void decide(struct look *look)
{
    if (find_growth(look))
        return;
    tell_flat(look);
    look->out->state = is_in_doubt(look)   ? VERDICT_WARMING
                       : is_sawtooth(look) ? VERDICT_SAWTOOTH
                       : is_stepped(look)  ? VERDICT_STEPPED
                                           : VERDICT_CONVERGED;
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
        take_window(&look, history->first_ms, &look.life) && measure(&look, &look.life)) {
        decide(&look);
        out->baseline_bytes = rounded((double)series->origin + look.life.y[0]);
    }
    out->growth_bytes = rounded((double)out->level_bytes - (double)out->baseline_bytes);
    out->answer = answer_of(out->state);
    tell_eta(&series->options, out);
    verdict_write_sentence(&series->options, out);
}
