/*
 * How a verdict is found.
 *
 * Trailing windows of halving length are judged, from the whole life to the last minutes. A window
 * decides when growth in it is all of
 *
 *     certain    the lower end of the slope's interval, times the span, is above the floor, or
 *                the series is a staircase of many steps that all go up
 *     continuing it has not stood still for much longer than ever before
 *     no step    it is not one step or two between levels
 *     new        it is higher than the series has been before, by more than its usual drawdown
 *     its own    it is not the end of a start-up that a longer window has shown
 *
 * and the curve that fits it names the state. When no window decides, the series has to be level in
 * some window up to now; if it is too young even for that, the verdict is that nothing can be said.
 */
#include "analyzers/trend/verdict_internal.h"

#include "analyzers/trend/window.h"

#include <math.h>
#include <string.h>

#define POINTS_MIN          12
/* The probability that a window without growth is called growing. Asked each minute of a day it is
 * tried a few hundred independent times; the other conditions and k of n take care of the rest
 * (docs/internals/error-rates.md has the rates). */
#define ALARM_P             3e-4
#define DOUBT_P             0.01
#define KENDALL_Z_MIN       3.0
#define STAIRS_MIN          7.0
#define RISES_MIN           4.0
#define NOISY_RISES_MIN     2.0
#define PAUSE_RATIO         2.0
#define LAST_QUARTER        0.15 /* of the mean growth, at least, to be growing still */
#define SEASONALITY_PERIODS 6.0  /* the newest */
#define SEASONALITY_SHARE   0.95
#define SLOWING_RATIO       0.8
#define FASTER_RATIO        1.25
#define CLASS_PRICE_MAX     102400 /* bytes: no class costs more, something else came with it */
#define PLATEAU_DOUBT       10     /* in units of AICc */
/* Start-ups with a time constant of up to an hour are usual: in the first hour growth that could be
 * one is not called a leak. A longer one must show its curve. */
#define START_UP_H          1.0
#define STEEP_FLOORS        2.0 /* an hour: too steep to be called level on a few minutes' word */
#define START_UP_MAX_H      4.0
#define FEW_FALL_SHARE      0.1
#define MB                  1048576.0

struct assessed {
    const struct verdict_series *series;
    struct verdict *out;
    double quantum;
    double floor;
    struct window life;
    int64_t life_from_ms;
    bool below_old_heights; /* something grows, but only to where the series was before */
    double before;          /* highest mean before the window that is being judged */
    bool have_start_up;     /* a longer window is a start-up that this one may be the end of */
    struct curve_fit start_up;
    double start_up_x;
};

static int64_t rounded(double value)
{
    const double far = 9.2e18;
    return value > far ? INT64_MAX : value < -far ? -INT64_MAX : (int64_t)llround(value);
}

static double age_h(const struct assessed *assessed)
{
    return assessed->life.x[assessed->life.n - 1];
}

/* --- conditions ------------------------------------------------------------------------------- */

/* A share of the level, but not more than eight floors: a large heap may not hide a leak. */
static double floor_of(const struct verdict_series *series)
{
    double floor = (double)series->options.floor_bytes;
    double share = fabs((double)series->level) * series->options.floor_percent / 100;
    return fmax(floor, fmin(share, 8 * floor));
}

static bool is_staircase(const struct assessed *assessed, const struct window *window)
{
    const struct envelope *envelope = &window->envelope;
    return envelope->rises >= STAIRS_MIN && envelope->climb >= 2 * assessed->floor &&
           envelope->fall <= envelope->climb / 10;
}

/* Of a sparse series so little is known that a window has to be no random walk, either. */
static bool is_walk(const struct assessed *assessed, const struct window *window)
{
    struct drift drift;
    return assessed->series->options.sparse &&
           (!drift_measure(window->x, window->y, window->n, assessed->quantum, ALARM_P, &drift) ||
            drift.certain <= 0);
}

/* Weighs the window, unless a glance shows that it is not worth it. */
static bool is_certain(const struct assessed *assessed, struct window *window)
{
    if (window_rough_rise(window) < assessed->floor / 2 ||
        !window_weigh(window, assessed->quantum) || is_walk(assessed, window))
        return false;
    double certain = trend_line_certain(&window->growth, ALARM_P);
    if (certain * window_span_h(window) >= assessed->floor &&
        certain >= (double)assessed->series->options.floor_bytes_per_h &&
        window->growth.kendall_z >= KENDALL_Z_MIN)
        return true;
    if (!is_staircase(assessed, window))
        return false;
    /* k jumps of one kind: their sum is known to 1 / sqrt k */
    struct trend_line jumps = window->line;
    jumps.usual = (struct trend_error){.se = jumps.slope / sqrt(window->envelope.rises),
                                       .degrees = window->envelope.rises};
    if (trend_line_reach(&jumps, 0.05) < trend_line_reach(&window->line, 0.05))
        window->line = jumps;
    return true;
}

/* Stands still twice as long as ever before; or longer than before, and grew next to nothing in its
 * last quarter. */
static bool has_stopped(const struct window *window)
{
    const struct envelope *envelope = &window->envelope;
    if (envelope->pause_now > PAUSE_RATIO * envelope->longest_pause)
        return true;
    if (envelope->pause_now <= envelope->longest_pause)
        return false;
    struct window last = {.n = window->n / 4};
    memcpy(last.mean, window->y + window->n - last.n, sizeof last.mean[0] * (size_t)last.n);
    memcpy(last.low, last.mean, sizeof last.low);
    return window->curve_fit.best == CURVE_END ||
           4 * window_rough_rise(&last) < LAST_QUARTER * window->envelope.climb;
}

/* One jump or two between levels. Under noise the envelope shows fewer rises than there are. */
static bool is_jump(const struct window *window)
{
    const struct envelope *envelope = &window->envelope;
    const struct curve_parameters *fit = window->curve_fit.fit;
    bool noisy = envelope->roughness > envelope->climb / 20;
    if (envelope->rises < (noisy ? NOISY_RISES_MIN : RISES_MIN) ||
        window->curve_fit.best == CURVE_STEP)
        return true;
    return envelope->rises < RISES_MIN && fit[CURVE_STEP].aicc < fit[CURVE_LINE].aicc;
}

/* Higher than before, by more than what the series falls at the scale of this window. Where falls
 * are not small against the growth, the window must have seen several of them, or have left the
 * heights before them far behind. */
static bool is_new_height(const struct assessed *assessed, const struct window *window)
{
    double span_ms = window_span_h(window) * WINDOW_HOUR_MS, end = window_end(window);
    const struct drawdown_scale *usual = drawdown_at(&assessed->series->drawdown, span_ms / 10);
    double fall = (double)usual->fall;
    if (end - assessed->before < 0.75 * fall)
        return false;
    if (fall < 0.25 * window->growth.slope * window_span_h(window))
        return true;
    if (usual->falls >= 2 && usual->cycle_ms > 0 && span_ms >= 3.5 * (double)usual->cycle_ms)
        return true;
    double top = usual->falls > 0 ? (double)usual->top : -INFINITY;
    return end - fmax(assessed->before, top) >= 1.5 * fall;
}

/* --- start-up --------------------------------------------------------------------------------- */

/* A plateau, or nearly as well as what fits best: an undecided verdict raises no alarm. */
static bool is_plateau(const struct curve_fit *curve_fit)
{
    const struct curve_parameters *plateau = &curve_fit->fit[CURVE_PLATEAU],
                                  *both = &curve_fit->fit[CURVE_PLATEAU_AND_LINE];
    if (plateau->b <= 0 || plateau->aicc > curve_fit->fit[CURVE_LINE].aicc - CURVE_FIT_CLEARLY)
        return false;
    return plateau->aicc < curve_fit->fit[curve_fit->best].aicc + PLATEAU_DOUBT ||
           (curve_fit->best == CURVE_PLATEAU_AND_LINE && both->d <= 0);
}

static bool is_starting_up(const struct assessed *assessed, const struct window *window)
{
    const struct curve_fit *curve_fit = &window->curve_fit;
    double span_h = window_span_h(window);
    if (is_plateau(curve_fit) && curve_fit->fit[CURVE_PLATEAU].c <= fmax(span_h, START_UP_MAX_H))
        return true;
    return age_h(assessed) < START_UP_H &&
           curve_fit_may_be_plateau(curve_fit, window->x, window->tame, window->n,
                                    fmin(START_UP_H, 3 * span_h));
}

/* Does this window grow no more than the end of the start-up would? */
static bool is_end_of_start_up(const struct assessed *assessed, const struct window *window)
{
    if (!assessed->have_start_up)
        return false;
    double t = (window->x[0] + window->x[window->n - 1]) / 2 - assessed->start_up_x;
    double beyond = trend_line_certain(&window->growth, 1e-3) -
                    1.5 * curve_fit_slope(&assessed->start_up, CURVE_PLATEAU, t);
    return beyond * window_span_h(window) < assessed->floor;
}

/* --- growth ----------------------------------------------------------------------------------- */

enum judgement { SAYS_NOTHING, MAY_GROW, GROWS };

/* A leak after a start-up, or one that began within the window, has a rate of its own that a
 * shorter window shows it better. */
static enum judgement purity(const struct window *window)
{
    const struct curve_fit *curve_fit = &window->curve_fit;
    const struct curve_parameters *both = &curve_fit->fit[CURVE_PLATEAU_AND_LINE];
    if (curve_fit->best == CURVE_ONSET)
        return MAY_GROW;
    if (curve_fit->best != CURVE_PLATEAU_AND_LINE || both->b <= 0 ||
        both->d >= 0.7 * window->growth.slope)
        return GROWS;
    return both->d >= 0.3 * window->growth.slope ? MAY_GROW : SAYS_NOTHING;
}

static enum verdict_state shape_of(const struct assessed *assessed, const struct window *window)
{
    const struct curve_fit *curve_fit = &window->curve_fit;
    if (is_starting_up(assessed, window))
        return VERDICT_WARMING;
    if (curve_fit->best == CURVE_LINE || !curve_fit->have_ratio)
        return VERDICT_LINEAR;
    if (curve_fit->best == CURVE_QUADRATIC && curve_fit->ratio > FASTER_RATIO)
        return VERDICT_ACCELERATING;
    return curve_fit->ratio < SLOWING_RATIO ? VERDICT_SLOWING : VERDICT_LINEAR;
}

/* *state is set when it says anything. */
static enum judgement judge(struct assessed *assessed, struct window *window,
                            enum verdict_state *state)
{
    if (!is_certain(assessed, window) || is_end_of_start_up(assessed, window))
        return SAYS_NOTHING;
    const struct curve_fit *curve_fit = &window->curve_fit;
    bool plateau = is_plateau(curve_fit),
         reached = plateau && curve_fit_left(curve_fit, curve_fit->span) < assessed->floor;
    if (reached || has_stopped(window) || is_jump(window)) {
        if (plateau) {
            assessed->have_start_up = true;
            assessed->start_up = *curve_fit;
            assessed->start_up_x = window->x[0];
        }
        return SAYS_NOTHING;
    }
    if (!is_new_height(assessed, window)) {
        assessed->below_old_heights = true;
        return SAYS_NOTHING;
    }
    /* The report must not contradict the decision. */
    if (window->line.slope <= trend_line_reach(&window->line, 0.05))
        return SAYS_NOTHING;
    *state = shape_of(assessed, window);
    /* Slowing growth counts as growth while the same time again would add more than the detection
     * limit. */
    if (*state == VERDICT_SLOWING &&
        curve_fit_slope(curve_fit, curve_fit->best, curve_fit->span) * curve_fit->span <
            assessed->floor)
        return SAYS_NOTHING;
    return purity(window);
}

static double from_life_h(const struct assessed *assessed)
{
    return (double)(assessed->life_from_ms - assessed->series->history.first_ms) / WINDOW_HOUR_MS;
}

static void set_segment(const struct assessed *assessed, const struct window *window, double from_h)
{
    struct verdict *out = assessed->out;
    double slope = window->line.slope, reach = trend_line_reach(&window->line, 0.05);
    out->from_ms = assessed->series->history.first_ms + rounded(from_h * WINDOW_HOUR_MS);
    out->have_slope = true;
    out->slope_bytes_per_h = (struct verdict_interval){slope, slope - reach, slope + reach};
}

static bool find_growth(struct assessed *assessed)
{
    const struct history *history = &assessed->series->history;
    double age_ms = (double)(history->last_ms - history->first_ms);
    double span_ms = (double)(history->last_ms - assessed->life_from_ms);
    struct window window = assessed->life;
    bool may = false;
    assessed->before = -INFINITY;
    for (;;) {
        enum verdict_state state;
        enum judgement judgement = judge(assessed, &window, &state);
        double from_h = (age_ms - span_ms) / WINDOW_HOUR_MS;
        if (judgement == GROWS || (judgement == MAY_GROW && !may)) {
            assessed->out->state = state;
            set_segment(assessed, &window, from_h);
        }
        if (judgement == GROWS)
            return true;
        may = may || judgement == MAY_GROW;
        span_ms /= 2;
        from_h = (age_ms - span_ms) / WINDOW_HOUR_MS;
        for (int i = 0; i < window.n && window.x[i] < from_h; i++)
            assessed->before = fmax(assessed->before, window.mean[i]);
        if (span_ms < (double)assessed->series->options.min_span_ms ||
            !window_take(&window, history, history->last_ms - (int64_t)span_ms))
            return may;
    }
}

/* The swing of the longest period that the series has lived through often enough. It must be there
 * on averages of a good part of its period, which mere noise is not, and not be small beside
 * another. */
static const struct drawdown_scale *longest_swing(const struct assessed *assessed)
{
    const struct drawdown *drawdown = &assessed->series->drawdown;
    const struct drawdown_scale *longest = NULL;
    double age_ms = age_h(assessed) * WINDOW_HOUR_MS, largest = 2 * assessed->floor;
    for (int i = 0; i < DRAWDOWN_SCALES; i++)
        largest = fmax(largest, (double)drawdown->scale[i].fall / 2);
    for (int i = 0; i < DRAWDOWN_SCALES; i++) {
        const struct drawdown_scale *scale = &drawdown->scale[i];
        double width_ms = drawdown_width_ms(drawdown, i), cycle_ms = (double)scale->cycle_ms;
        if (scale->falls >= 2 && (double)scale->fall >= largest && width_ms >= cycle_ms / 24 &&
            width_ms <= cycle_ms / 6 && age_ms > SEASONALITY_PERIODS_MIN * cycle_ms &&
            (longest == NULL || scale->cycle_ms > longest->cycle_ms))
            longest = scale;
    }
    return longest;
}

/* Growth below a swing, day after day: higher than one period ago at nearly every moment. */
static bool find_seasonality(struct assessed *assessed)
{
    const struct drawdown_scale *swing = longest_swing(assessed);
    const struct history *history = &assessed->series->history;
    struct window window;
    struct seasonality seasonality;
    if (swing == NULL)
        return false;
    double period_ms = (double)swing->cycle_ms;
    double span_ms = fmin(age_h(assessed) * WINDOW_HOUR_MS, SEASONALITY_PERIODS * period_ms);
    if (!window_take(&window, history, history->last_ms - rounded(span_ms)) ||
        !seasonality_measure(window.x, window.mean, window.n, period_ms / WINDOW_HOUR_MS,
                             &seasonality))
        return false;
    double least = 0.3 * seasonality.rise, top = -INFINITY, top_before = -INFINITY;
    for (int i = 0; i < window.n; i++)
        top = fmax(top, window.mean[i]);
    for (int i = 0; i < assessed->life.n && assessed->life.x[i] < window.x[0]; i++)
        top_before = fmax(top_before, assessed->life.mean[i]);
    if (top < top_before + seasonality.slope * window_span_h(&window) / 2)
        return false; /* what it rose, it had fallen before */
    if (seasonality.share_higher < SEASONALITY_SHARE || seasonality.slope_low <= 0 ||
        seasonality.low_rise < least || seasonality.last_rise < least ||
        seasonality.rise < assessed->floor)
        return false;
    struct verdict *out = assessed->out;
    out->state = VERDICT_LINEAR;
    out->from_ms = history->last_ms - rounded(span_ms);
    out->have_slope = true;
    out->slope_bytes_per_h =
        (struct verdict_interval){seasonality.slope, seasonality.slope_low, seasonality.slope_high};
    return true;
}

/* --- no growth -------------------------------------------------------------------------------- */

/* Certain growth above the floor, although the decision was: no growth. It is the branch of a
 * swing that rises just now. */
static bool rises_now(const struct assessed *assessed, const struct window *window)
{
    double low = window->line.slope - trend_line_reach(&window->line, 0.05);
    return low * window_span_h(window) > assessed->floor;
}

/* From when on the series has stood where it stands now; false when it rises just now, which it has
 * done before: then the whole life is reported. */
static bool find_level(const struct assessed *assessed)
{
    const struct window *life = &assessed->life;
    int from = life->n - life->n / 5, tail = life->n / 8 + 1;
    double last = 0, rise = 0, lowest = INFINITY;
    for (int i = 0; i < life->n; i++) {
        last += i >= life->n - tail ? life->y[i] / tail : 0;
        lowest = fmin(lowest, life->y[i]);
        rise = fmax(rise, life->y[i] - lowest);
    }
    double band = fmin(3 * life->line.scale, fmin(life->envelope.fall, rise));
    band = fmax(assessed->floor / 2, band);
    while (from > 0 && fabs(life->y[from - 1] - last) <= band)
        from--;
    struct window level;
    const struct history *history = &assessed->series->history;
    int64_t from_ms = history->first_ms + rounded(life->x[from] * WINDOW_HOUR_MS);
    if (from > 0 && window_take(&level, history, from_ms) &&
        window_draw(&level, assessed->quantum) && !rises_now(assessed, &level)) {
        set_segment(assessed, &level, life->x[from]);
        return true;
    }
    set_segment(assessed, life, from_life_h(assessed));
    assessed->out->have_slope = !rises_now(assessed, life);
    return from == 0;
}

/* Rises so much that "level" would be wrong, and not so surely that "grows" would be right. Only
 * the young get the benefit of the doubt: later there was time to be sure. */
static bool is_in_doubt(const struct assessed *assessed)
{
    const struct window *life = &assessed->life;
    const struct envelope *envelope = &life->envelope;
    if (age_h(assessed) > START_UP_H || has_stopped(life))
        return false;
    if (assessed->out->slope_bytes_per_h.low * START_UP_H > STEEP_FLOORS * assessed->floor)
        return true;
    if (envelope->fall > envelope->climb / 3 || envelope->rises < NOISY_RISES_MIN)
        return false;
    return trend_line_certain(&life->line, DOUBT_P) * age_h(assessed) >= assessed->floor ||
           envelope->climb >= 2 * assessed->floor;
}

/* Falls of one size again and again, at one distance: what a collector or a day does. */
static bool is_sawtooth(const struct assessed *assessed)
{
    const struct drawdown *drawdown = &assessed->series->drawdown;
    for (int i = 0; i + 1 < DRAWDOWN_SCALES; i++) {
        const struct drawdown_scale *scale = &drawdown->scale[i];
        if (scale->falls >= 5 && (double)scale->fall >= 2 * assessed->floor &&
            scale[1].fall >= 0.75f * scale->fall && scale->cycle_spread < 0.3f)
            return true;
    }
    return false;
}

static const struct curve_parameters *plateau_of(const struct curve_fit *curve_fit)
{
    return &curve_fit->fit[curve_fit->best == CURVE_PLATEAU_AND_LINE ? CURVE_PLATEAU_AND_LINE
                                                                     : CURVE_PLATEAU];
}

/* Over, and it brought something. */
static bool has_started_up(const struct assessed *assessed)
{
    const struct curve_fit *curve_fit = &assessed->life.curve_fit;
    const struct curve_parameters *fit = plateau_of(curve_fit);
    return (curve_fit->best == CURVE_PLATEAU_AND_LINE || is_plateau(curve_fit)) &&
           fit->b > assessed->floor && fit->c < curve_fit->span / 4;
}

/* Level since a jump that was no part of the start-up. */
static bool is_stepped(const struct assessed *assessed)
{
    const struct window *life = &assessed->life;
    const struct envelope *envelope = &life->envelope;
    return !has_started_up(assessed) && envelope->largest_rise > assessed->floor &&
           envelope->largest_rise > 0.2 * envelope->climb && envelope->rises < RISES_MIN &&
           envelope->fall < 0.3 * envelope->largest_rise &&
           envelope->largest_rise_x > life->x[0] + window_span_h(life) / 5;
}

/* Jumps between levels, up or down; a jump may take two bins. */
static int count_steps(const struct assessed *assessed)
{
    const struct window *life = &assessed->life;
    double large = fmax(assessed->floor, 6 * life->envelope.roughness);
    int steps = 0;
    for (int i = 1; i + 1 < life->n; i++) {
        if (fabs(life->y[i + 1] - life->y[i - 1]) > large) {
            steps++;
            i += 2;
        }
    }
    return steps;
}

static void decide(struct assessed *assessed)
{
    if (find_growth(assessed) || find_seasonality(assessed))
        return;
    bool level = find_level(assessed), swings = assessed->life.envelope.fall > assessed->floor;
    struct verdict *out = assessed->out;
    if (is_in_doubt(assessed)) {
        out->state = VERDICT_WARMING;
    } else if (is_sawtooth(assessed) || assessed->below_old_heights || (!level && swings)) {
        out->state = VERDICT_SAWTOOTH;
    } else if (is_stepped(assessed)) {
        out->state = VERDICT_STEPPED;
        out->steps = count_steps(assessed);
    } else {
        out->state = VERDICT_CONVERGED;
    }
}

/* --- what goes with it ------------------------------------------------------------------------ */

static enum verdict_answer answer_of(enum verdict_state state)
{
    static const enum verdict_answer answers[VERDICT_STATE_COUNT] = {
#define VERDICT_STATE(id, answer, meaning) [VERDICT_##id] = VERDICT_##answer,
#include "analyzers/trend/verdict_states.def"
    };
    return answers[state];
}

/* Where the series stood when start-up had ended; the first level when none can be seen. */
static double baseline(const struct assessed *assessed)
{
    const struct curve_parameters *fit = plateau_of(&assessed->life.curve_fit);
    return has_started_up(assessed) ? fit->a + fit->b : assessed->life.y[0];
}

static void set_regressor(const struct assessed *assessed)
{
    const struct window *life = &assessed->life;
    struct verdict *out = assessed->out;
    struct regressor regressor;
    if (!assessed->series->history.have_regressor ||
        !regressor_explain(life->x, life->mean, life->regressor, life->n, assessed->quantum,
                           assessed->floor, &regressor) ||
        regressor.bytes_per_class > CLASS_PRICE_MAX)
        return;
    out->have_regressor = true;
    out->bytes_per_class = regressor.bytes_per_class;
    out->explained_share = regressor.explained_share;
    out->slope_left_bytes_per_h = (struct verdict_interval){
        .value = regressor.left, .low = regressor.left_low, .high = regressor.left_high};
}

static void set_eta(const struct verdict_options *options, struct verdict *out)
{
    const struct verdict_interval *slope = &out->slope_bytes_per_h;
    if (options->limit_bytes <= 0 || out->answer != VERDICT_GROWING || slope->value <= 0)
        return;
    double room = fmax(0, (double)options->limit_bytes - (double)out->level_bytes);
    out->have_eta = true;
    out->eta_s = room / slope->value * 3600;
    out->eta_low_s = room / slope->high * 3600;
    out->eta_high_s = slope->low > 0 ? room / slope->low * 3600 : INFINITY;
}

/* The whole life, or what came after a gap that is longer than all the rest. */
static bool take_life(struct assessed *assessed)
{
    const struct history *history = &assessed->series->history;
    int64_t span_ms = history->last_ms - history->first_ms;
    for (; span_ms >= assessed->series->options.min_span_ms; span_ms /= 2) {
        assessed->life_from_ms = history->last_ms - span_ms;
        if (window_take(&assessed->life, history, assessed->life_from_ms))
            return true;
    }
    return false;
}

/* Growth of a few points that are rare. Windows may have seen too little of it, or have found
 * growth: then it is theirs. A series that falls again, by more than a tenth, does not only
 * grow. */
static void decide_few(const struct assessed *assessed)
{
    const struct verdict_options *options = &assessed->series->options;
    const struct few_points *few = &assessed->series->few;
    struct verdict *out = assessed->out;
    struct drift drift;
    if (few->count < FEW_POINTS_MIN || few->count > FEW_POINTS_MAX ||
        answer_of(out->state) == VERDICT_GROWING ||
        !drift_measure(few->x, few->y, few->count, assessed->quantum, ALARM_P, &drift) ||
        drift.span * WINDOW_HOUR_MS < (double)options->min_span_ms ||
        drift.certain * drift.span < assessed->floor ||
        drift.certain < (double)options->floor_bytes_per_h ||
        drift.fall > drift.slope * drift.span * FEW_FALL_SHARE)
        return;
    bool may_end = drift_may_end(&drift, few->x, few->y, few->count, START_UP_H);
    out->state = may_end ? VERDICT_WARMING : VERDICT_LINEAR;
    out->from_ms = assessed->series->life_from_ms + rounded(few->x[0] * WINDOW_HOUR_MS);
    out->have_slope = true;
    out->slope_bytes_per_h = (struct verdict_interval){drift.slope, drift.low, drift.high};
}

void verdict_ask(const struct verdict_series *series, struct verdict *out)
{
    const struct history *history = &series->history;
    memset(out, 0, sizeof *out);
    out->state = VERDICT_TOO_SHORT;
    out->points = series->points;
    out->restarts = series->restarts;
    out->from_ms = series->life_from_ms;
    out->to_ms = series->last_ms;
    out->level_bytes = out->baseline_bytes = series->level;
    struct assessed assessed = {.series = series, .out = out, .floor = floor_of(series)};
    assessed.quantum = fmin((double)series->least_step, MB / 4);
    if (history->count >= POINTS_MIN &&
        history->last_ms - history->first_ms >= series->options.min_span_ms &&
        take_life(&assessed) && window_draw(&assessed.life, assessed.quantum) &&
        curve_fit_measure(assessed.life.x, assessed.life.y, assessed.life.n, assessed.quantum,
                          &assessed.life.curve_fit)) {
        decide(&assessed);
        set_regressor(&assessed);
        out->baseline_bytes = rounded((double)series->origin + baseline(&assessed));
    }
    decide_few(&assessed);
    bool young = out->state == VERDICT_TOO_SHORT || out->state == VERDICT_WARMING;
    if ((series->restarts > 0 && young) || verdict_has_fallen(series))
        out->state = VERDICT_RESTARTED;
    out->growth_bytes = rounded((double)out->level_bytes - (double)out->baseline_bytes);
    out->answer = answer_of(out->state);
    set_eta(&series->options, out);
    verdict_write_sentence(&series->options, out);
}
