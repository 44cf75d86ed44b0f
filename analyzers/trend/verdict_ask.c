/*
 * How a verdict is found.
 *
 * Trailing stretches of halving length are judged, from the whole life to the last minutes. A
 * stretch speaks when growth in it is
 *
 *     certain    the lower end of the slope's interval, times the span, is above the floor (or it
 * is a staircase of many jumps that all go up) going on   it has not stood still for much longer
 * than ever before no jump    not one step or two between levels new        higher than the series
 * has been before, by more than it falls by itself its own    not the end of a start-up that a
 * longer stretch has shown
 *
 * and says how it bends. When none speaks, the series must be level somewhere up to now; if it is
 * too young even for that, nobody can tell.
 */
#include "analyzers/trend/verdict_internal.h"

#include "analyzers/trend/driver.h"
#include "analyzers/trend/stretch.h"
#include "analyzers/trend/tide.h"

#include <math.h>
#include <string.h>

#define POINTS_MIN      12
/* The probability that a stretch without growth is called growing. Asked each minute of a day it is
 * tried a few hundred independent times; the other conditions and k of n take care of the rest
 * (docs/verdict.md has the rates). */
#define ALARM_P         3e-4
#define DOUBT_P         0.01
#define KENDALL_Z_MIN   3.0
#define STAIRS_MIN      7.0
#define RISES_MIN       4.0
#define NOISY_RISES_MIN 2.0
#define PAUSE_RATIO     2.0
#define LAST_QUARTER    0.15 /* of the mean growth, at least, to be growing still */
#define TIDE_PERIODS    6.0  /* the newest */
#define TIDE_SHARE      0.95
#define SLOWING_RATIO   0.8
#define FASTER_RATIO    1.25
#define PLATEAU_DOUBT   10 /* in units of AICc */
/* Start-ups with a time constant of up to an hour are usual: in the first hour growth that could be
 * one is not called a leak. A longer one must be seen to bend. */
#define START_UP_H      1.0
#define STEEP_FLOORS    2.0 /* an hour: too steep to be called level on a few minutes' word */
#define START_UP_MAX_H  4.0
#define MB              1048576.0

struct look {
    const struct verdict_series *series;
    struct verdict *out;
    double quantum;
    double floor;
    struct stretch life;
    int64_t life_from_ms;
    bool below_old_heights; /* something grows, but only to where the series was before */
    double before;          /* highest mean before the stretch that is being judged */
    bool have_start_up;     /* a longer stretch is a start-up that this one may be the end of */
    struct bend start_up;
    double start_up_x;
};

static int64_t rounded(double value)
{
    const double far = 9.2e18;
    return value > far ? INT64_MAX : value < -far ? -INT64_MAX : (int64_t)llround(value);
}

static double age_h(const struct look *look)
{
    return look->life.x[look->life.n - 1];
}

/* --- conditions ----------------------------------------------------------------------------------
 */

/* A share of the level, but not more than eight floors: a large heap may not hide a leak. */
static double floor_of(const struct verdict_series *series)
{
    double floor = (double)series->options.floor_bytes;
    double share = fabs((double)series->level) * series->options.floor_percent / 100;
    return fmax(floor, fmin(share, 8 * floor));
}

static bool is_staircase(const struct look *look, const struct stretch *stretch)
{
    const struct ascent *ascent = &stretch->ascent;
    return ascent->rises >= STAIRS_MIN && ascent->climb >= 2 * look->floor &&
           ascent->fall <= ascent->climb / 10;
}

/* Weighs the stretch, unless a glance shows that it is not worth it. */
static bool is_certain(const struct look *look, struct stretch *stretch)
{
    if (stretch_rough_rise(stretch) < look->floor / 2 || !stretch_weigh(stretch, look->quantum))
        return false;
    double certain = trend_line_certain(&stretch->growth, ALARM_P);
    if (certain * stretch_span_h(stretch) >= look->floor &&
        certain >= (double)look->series->options.floor_bytes_per_h &&
        stretch->growth.kendall_z >= KENDALL_Z_MIN)
        return true;
    if (!is_staircase(look, stretch))
        return false;
    /* k jumps of one kind: their sum is known to 1 / sqrt k */
    struct trend_line jumps = stretch->line;
    jumps.usual = (struct trend_error){.se = jumps.slope / sqrt(stretch->ascent.rises),
                                       .degrees = stretch->ascent.rises};
    if (trend_line_reach(&jumps, 0.05) < trend_line_reach(&stretch->line, 0.05))
        stretch->line = jumps;
    return true;
}

/* Stands still twice as long as ever before; or longer than before, and grew next to nothing in its
 * last quarter. */
static bool has_stopped(const struct stretch *stretch)
{
    const struct ascent *ascent = &stretch->ascent;
    if (ascent->pause_now > PAUSE_RATIO * ascent->longest_pause)
        return true;
    if (ascent->pause_now <= ascent->longest_pause)
        return false;
    struct stretch last = {.n = stretch->n / 4};
    memcpy(last.mean, stretch->y + stretch->n - last.n, sizeof last.mean[0] * (size_t)last.n);
    memcpy(last.low, last.mean, sizeof last.low);
    return stretch->bend.best == BEND_STOPPED ||
           4 * stretch_rough_rise(&last) < LAST_QUARTER * stretch->ascent.climb;
}

/* One jump or two between levels. Under noise the envelope shows fewer rises than there are. */
static bool is_jump(const struct stretch *stretch)
{
    const struct ascent *ascent = &stretch->ascent;
    const struct bend_fit *fit = stretch->bend.fit;
    bool noisy = ascent->roughness > ascent->climb / 20;
    if (ascent->rises < (noisy ? NOISY_RISES_MIN : RISES_MIN) || stretch->bend.best == BEND_JUMP)
        return true;
    return ascent->rises < RISES_MIN && fit[BEND_JUMP].aicc < fit[BEND_LINE].aicc;
}

/* Higher than before, by more than what the series falls at the scale of this stretch. Where falls
 * are not small against the growth, the stretch must have seen several of them, or have left the
 * heights before them far behind. */
static bool is_new_height(const struct look *look, const struct stretch *stretch)
{
    double span_ms = stretch_span_h(stretch) * STRETCH_HOUR_MS, end = stretch_end(stretch);
    const struct wander_scale *usual = wander_at(&look->series->wander, span_ms / 10);
    double fall = (double)usual->fall;
    if (end - look->before < 0.75 * fall)
        return false;
    if (fall < 0.25 * stretch->growth.slope * stretch_span_h(stretch))
        return true;
    if (usual->falls >= 2 && usual->cycle_ms > 0 && span_ms >= 3.5 * (double)usual->cycle_ms)
        return true;
    double top = usual->falls > 0 ? (double)usual->top : -INFINITY;
    return end - fmax(look->before, top) >= 1.5 * fall;
}

/* --- start-up ------------------------------------------------------------------------------------
 */

/* A plateau, or nearly as well as what fits best: who cannot tell should not alarm. */
static bool is_plateau(const struct bend *bend)
{
    const struct bend_fit *plateau = &bend->fit[BEND_PLATEAU], *both = &bend->fit[BEND_BOTH];
    if (plateau->b <= 0 || plateau->aicc > bend->fit[BEND_LINE].aicc - BEND_CLEARLY)
        return false;
    return plateau->aicc < bend->fit[bend->best].aicc + PLATEAU_DOUBT ||
           (bend->best == BEND_BOTH && both->d <= 0);
}

static bool is_starting_up(const struct look *look, const struct stretch *stretch)
{
    const struct bend *bend = &stretch->bend;
    double span_h = stretch_span_h(stretch);
    if (is_plateau(bend) && bend->fit[BEND_PLATEAU].c <= fmax(span_h, START_UP_MAX_H))
        return true;
    return age_h(look) < START_UP_H &&
           bend_may_be_plateau(bend, stretch->x, stretch->tame, stretch->n,
                               fmin(START_UP_H, 3 * span_h));
}

/* Does this stretch grow no more than the end of the start-up would? */
static bool is_end_of_start_up(const struct look *look, const struct stretch *stretch)
{
    if (!look->have_start_up)
        return false;
    double t = (stretch->x[0] + stretch->x[stretch->n - 1]) / 2 - look->start_up_x;
    double beyond = trend_line_certain(&stretch->growth, 1e-3) -
                    1.5 * bend_slope(&look->start_up, BEND_PLATEAU, t);
    return beyond * stretch_span_h(stretch) < look->floor;
}

/* --- growth --------------------------------------------------------------------------------------
 */

enum judgement { SAYS_NOTHING, MAY_GROW, GROWS };

/* A leak after a start-up, or one that began within the stretch, has a rate of its own that a
 * shorter stretch tells better. */
static enum judgement purity(const struct stretch *stretch)
{
    const struct bend *bend = &stretch->bend;
    const struct bend_fit *both = &bend->fit[BEND_BOTH];
    if (bend->best == BEND_LATE)
        return MAY_GROW;
    if (bend->best != BEND_BOTH || both->b <= 0 || both->d >= 0.7 * stretch->growth.slope)
        return GROWS;
    return both->d >= 0.3 * stretch->growth.slope ? MAY_GROW : SAYS_NOTHING;
}

static enum verdict_state shape_of(const struct look *look, const struct stretch *stretch)
{
    const struct bend *bend = &stretch->bend;
    if (is_starting_up(look, stretch))
        return VERDICT_WARMING;
    if (bend->best == BEND_LINE || !bend->have_ratio)
        return VERDICT_LINEAR;
    if (bend->best == BEND_FASTER && bend->ratio > FASTER_RATIO)
        return VERDICT_ACCELERATING;
    return bend->ratio < SLOWING_RATIO ? VERDICT_SLOWING : VERDICT_LINEAR;
}

/* *state is set when it says anything. */
static enum judgement judge(struct look *look, struct stretch *stretch, enum verdict_state *state)
{
    if (!is_certain(look, stretch) || is_end_of_start_up(look, stretch))
        return SAYS_NOTHING;
    const struct bend *bend = &stretch->bend;
    bool plateau = is_plateau(bend), reached = plateau && bend_left(bend, bend->span) < look->floor;
    if (reached || has_stopped(stretch) || is_jump(stretch)) {
        if (plateau) {
            look->have_start_up = true;
            look->start_up = *bend;
            look->start_up_x = stretch->x[0];
        }
        return SAYS_NOTHING;
    }
    if (!is_new_height(look, stretch)) {
        look->below_old_heights = true;
        return SAYS_NOTHING;
    }
    /* What is told must not contradict what is decided. */
    if (stretch->line.slope <= trend_line_reach(&stretch->line, 0.05))
        return SAYS_NOTHING;
    *state = shape_of(look, stretch);
    /* What slows down is growth as long as as much time again would bring more than the floor. */
    if (*state == VERDICT_SLOWING &&
        bend_slope(bend, bend->best, bend->span) * bend->span < look->floor)
        return SAYS_NOTHING;
    return purity(stretch);
}

static double from_life_h(const struct look *look)
{
    return (double)(look->life_from_ms - look->series->history.first_ms) / STRETCH_HOUR_MS;
}

static void tell_segment(const struct look *look, const struct stretch *stretch, double from_h)
{
    struct verdict *out = look->out;
    double reach = trend_line_reach(&stretch->line, 0.05);
    out->from_ms = look->series->history.first_ms + rounded(from_h * STRETCH_HOUR_MS);
    out->have_slope = true;
    out->slope_bytes_per_h.value = stretch->line.slope;
    out->slope_bytes_per_h.low = stretch->line.slope - reach;
    out->slope_bytes_per_h.high = stretch->line.slope + reach;
}

static bool find_growth(struct look *look)
{
    const struct history *history = &look->series->history;
    double age_ms = (double)(history->last_ms - history->first_ms);
    double span_ms = (double)(history->last_ms - look->life_from_ms);
    struct stretch stretch = look->life;
    bool may = false;
    look->before = -INFINITY;
    for (;;) {
        enum verdict_state state;
        enum judgement judgement = judge(look, &stretch, &state);
        double from_h = (age_ms - span_ms) / STRETCH_HOUR_MS;
        if (judgement == GROWS || (judgement == MAY_GROW && !may)) {
            look->out->state = state;
            tell_segment(look, &stretch, from_h);
        }
        if (judgement == GROWS)
            return true;
        may = may || judgement == MAY_GROW;
        span_ms /= 2;
        from_h = (age_ms - span_ms) / STRETCH_HOUR_MS;
        for (int i = 0; i < stretch.n && stretch.x[i] < from_h; i++)
            look->before = fmax(look->before, stretch.mean[i]);
        if (span_ms < (double)look->series->options.min_span_ms ||
            !stretch_take(&stretch, history, history->last_ms - (int64_t)span_ms))
            return may;
    }
}

/* The swing of the longest period that the series has lived through often enough. It must be there
 * on averages of a good part of its period, which mere noise is not, and not be small beside
 * another. */
static const struct wander_scale *longest_swing(const struct look *look)
{
    const struct wander *wander = &look->series->wander;
    const struct wander_scale *longest = NULL;
    double age_ms = age_h(look) * STRETCH_HOUR_MS, largest = 2 * look->floor;
    for (int i = 0; i < WANDER_SCALES; i++)
        largest = fmax(largest, (double)wander->scale[i].fall / 2);
    for (int i = 0; i < WANDER_SCALES; i++) {
        const struct wander_scale *scale = &wander->scale[i];
        double width_ms = wander_width_ms(wander, i), cycle_ms = (double)scale->cycle_ms;
        if (scale->falls >= 2 && (double)scale->fall >= largest && width_ms >= cycle_ms / 24 &&
            width_ms <= cycle_ms / 6 && age_ms > TIDE_PERIODS_MIN * cycle_ms &&
            (longest == NULL || scale->cycle_ms > longest->cycle_ms))
            longest = scale;
    }
    return longest;
}

/* Growth below a swing, day after day: higher than one period ago at nearly every moment. */
static bool find_tide(struct look *look)
{
    const struct wander_scale *swing = longest_swing(look);
    const struct history *history = &look->series->history;
    struct stretch stretch;
    struct tide tide;
    if (swing == NULL)
        return false;
    double period_ms = (double)swing->cycle_ms;
    double span_ms = fmin(age_h(look) * STRETCH_HOUR_MS, TIDE_PERIODS * period_ms);
    if (!stretch_take(&stretch, history, history->last_ms - rounded(span_ms)) ||
        !tide_measure(stretch.x, stretch.mean, stretch.n, period_ms / STRETCH_HOUR_MS, &tide))
        return false;
    double least = 0.3 * tide.rise, top = -INFINITY, top_before = -INFINITY;
    for (int i = 0; i < stretch.n; i++)
        top = fmax(top, stretch.mean[i]);
    for (int i = 0; i < look->life.n && look->life.x[i] < stretch.x[0]; i++)
        top_before = fmax(top_before, look->life.mean[i]);
    if (top < top_before + tide.slope * stretch_span_h(&stretch) / 2)
        return false; /* what it rose, it had fallen before */
    if (tide.share_higher < TIDE_SHARE || tide.slope_low <= 0 || tide.low_rise < least ||
        tide.last_rise < least || tide.rise < look->floor)
        return false;
    struct verdict *out = look->out;
    out->state = VERDICT_LINEAR;
    out->from_ms = history->last_ms - rounded(span_ms);
    out->have_slope = true;
    out->slope_bytes_per_h.value = tide.slope;
    out->slope_bytes_per_h.low = tide.slope_low;
    out->slope_bytes_per_h.high = tide.slope_high;
    return true;
}

/* --- no growth -----------------------------------------------------------------------------------
 */

/* Certain growth above the floor, although the decision was that there is none: the branch of a
 * swing that rises just now. */
static bool rises_now(const struct look *look, const struct stretch *stretch)
{
    double low = stretch->line.slope - trend_line_reach(&stretch->line, 0.05);
    return low * stretch_span_h(stretch) > look->floor;
}

/* From when on the series has stood where it stands now; false when it rises just now, which it has
 * done before: then the whole life is told. */
static bool tell_level(const struct look *look)
{
    const struct stretch *life = &look->life;
    int from = life->n - life->n / 5, tail = life->n / 8 + 1;
    double last = 0, rise = 0, lowest = INFINITY;
    for (int i = 0; i < life->n; i++) {
        last += i >= life->n - tail ? life->y[i] / tail : 0;
        lowest = fmin(lowest, life->y[i]);
        rise = fmax(rise, life->y[i] - lowest);
    }
    double band = fmin(3 * life->line.scale, fmin(life->ascent.fall, rise));
    band = fmax(look->floor / 2, band);
    while (from > 0 && fabs(life->y[from - 1] - last) <= band)
        from--;
    struct stretch level;
    const struct history *history = &look->series->history;
    int64_t from_ms = history->first_ms + rounded(life->x[from] * STRETCH_HOUR_MS);
    if (from > 0 && stretch_take(&level, history, from_ms) && stretch_draw(&level, look->quantum) &&
        !rises_now(look, &level)) {
        tell_segment(look, &level, life->x[from]);
        return true;
    }
    tell_segment(look, life, from_life_h(look));
    look->out->have_slope = !rises_now(look, life);
    return from == 0;
}

/* Rises so much that "level" would be wrong, and not so surely that "grows" would be right. Only
 * the young get the benefit of the doubt: later there was time to be sure. */
static bool is_in_doubt(const struct look *look)
{
    const struct stretch *life = &look->life;
    const struct ascent *ascent = &life->ascent;
    if (age_h(look) > START_UP_H || has_stopped(life))
        return false;
    if (look->out->slope_bytes_per_h.low * START_UP_H > STEEP_FLOORS * look->floor)
        return true;
    if (ascent->fall > ascent->climb / 3 || ascent->rises < NOISY_RISES_MIN)
        return false;
    return trend_line_certain(&life->line, DOUBT_P) * age_h(look) >= look->floor ||
           ascent->climb >= 2 * look->floor;
}

/* Falls of one size again and again, at one distance: what a collector or a day does. */
static bool is_sawtooth(const struct look *look)
{
    const struct wander *wander = &look->series->wander;
    for (int i = 0; i + 1 < WANDER_SCALES; i++) {
        const struct wander_scale *scale = &wander->scale[i];
        if (scale->falls >= 5 && (double)scale->fall >= 2 * look->floor &&
            scale[1].fall >= 0.75f * scale->fall && scale->cycle_spread < 0.3f)
            return true;
    }
    return false;
}

/* Over, and it brought something. */
static bool has_started_up(const struct look *look)
{
    const struct bend *bend = &look->life.bend;
    const struct bend_fit *fit = &bend->fit[bend->best == BEND_BOTH ? BEND_BOTH : BEND_PLATEAU];
    return (bend->best == BEND_BOTH || is_plateau(bend)) && fit->b > look->floor &&
           fit->c < bend->span / 4;
}

/* Level since a jump that was no part of the start-up. */
static bool is_stepped(const struct look *look)
{
    const struct stretch *life = &look->life;
    const struct ascent *ascent = &life->ascent;
    return !has_started_up(look) && ascent->largest_rise > look->floor &&
           ascent->largest_rise > 0.2 * ascent->climb && ascent->rises < RISES_MIN &&
           ascent->fall < 0.3 * ascent->largest_rise &&
           ascent->largest_rise_x > life->x[0] + stretch_span_h(life) / 5;
}

/* Jumps between levels, up or down; a jump may take two bins. */
static int count_steps(const struct look *look)
{
    const struct stretch *life = &look->life;
    double large = fmax(look->floor, 6 * life->ascent.roughness);
    int steps = 0;
    for (int i = 1; i + 1 < life->n; i++) {
        if (fabs(life->y[i + 1] - life->y[i - 1]) > large) {
            steps++;
            i += 2;
        }
    }
    return steps;
}

static void decide(struct look *look)
{
    if (find_growth(look) || find_tide(look))
        return;
    bool level = tell_level(look), swings = look->life.ascent.fall > look->floor;
    struct verdict *out = look->out;
    if (is_in_doubt(look)) {
        out->state = VERDICT_WARMING;
    } else if (is_sawtooth(look) || look->below_old_heights || (!level && swings)) {
        out->state = VERDICT_SAWTOOTH;
    } else if (is_stepped(look)) {
        out->state = VERDICT_STEPPED;
        out->steps = count_steps(look);
    } else {
        out->state = VERDICT_CONVERGED;
    }
}

/* --- what goes with it ---------------------------------------------------------------------------
 */

static enum verdict_answer answer_of(enum verdict_state state)
{
    static const enum verdict_answer answers[VERDICT_STATE_COUNT] = {
#define VERDICT_STATE(id, answer, meaning) [VERDICT_##id] = VERDICT_##answer,
#include "analyzers/trend/verdict_states.def"
#undef VERDICT_STATE
    };
    return answers[state];
}

/* Where the series stood when start-up had ended; the first level when none can be seen. */
static double baseline(const struct look *look)
{
    const struct bend *bend = &look->life.bend;
    const struct bend_fit *fit = &bend->fit[bend->best == BEND_BOTH ? BEND_BOTH : BEND_PLATEAU];
    return has_started_up(look) ? fit->a + fit->b : look->life.y[0];
}

static void tell_driver(const struct look *look)
{
    const struct stretch *life = &look->life;
    struct verdict *out = look->out;
    struct driver driver;
    if (!look->series->history.have_driver ||
        !driver_explain(life->x, life->mean, life->driver, life->n, look->quantum, look->floor,
                        &driver))
        return;
    out->have_driver = true;
    out->bytes_per_class = driver.bytes_per_class;
    out->explained_share = driver.explained_share;
    out->slope_left_bytes_per_h = (struct verdict_interval){
        .value = driver.left, .low = driver.left_low, .high = driver.left_high};
}

static void tell_eta(const struct verdict_options *options, struct verdict *out)
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
static bool take_life(struct look *look)
{
    const struct history *history = &look->series->history;
    int64_t span_ms = history->last_ms - history->first_ms;
    for (; span_ms >= look->series->options.min_span_ms; span_ms /= 2) {
        look->life_from_ms = history->last_ms - span_ms;
        if (stretch_take(&look->life, history, look->life_from_ms))
            return true;
    }
    return false;
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
    struct look look = {.series = series, .out = out, .floor = floor_of(series)};
    look.quantum = fmin((double)series->least_step, MB / 4);
    if (history->count >= POINTS_MIN &&
        history->last_ms - history->first_ms >= series->options.min_span_ms && take_life(&look) &&
        stretch_draw(&look.life, look.quantum) &&
        bend_fit(look.life.x, look.life.y, look.life.n, look.quantum, &look.life.bend)) {
        decide(&look);
        tell_driver(&look);
        out->baseline_bytes = rounded((double)series->origin + baseline(&look));
    }
    bool young = out->state == VERDICT_TOO_SHORT || out->state == VERDICT_WARMING;
    if ((series->restarts > 0 && young) || verdict_has_fallen(series))
        out->state = VERDICT_RESTARTED;
    out->growth_bytes = rounded((double)out->level_bytes - (double)out->baseline_bytes);
    out->answer = answer_of(out->state);
    tell_eta(&series->options, out);
    verdict_write_sentence(&series->options, out);
}
