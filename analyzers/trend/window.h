/*
 * window: a series from some moment up to now as a few points, and whether it rises in it.
 *
 * What a verdict weighs: the bins of a history, as means or as low points, whichever lies closer to
 * a line (a GC's sawtooth leaves the low points alone, noise the means); its line, its curve, its
 * envelope.
 *
 *   window_take -> window_weigh -> the fields
 *
 * Plain data of 3 KB; any thread.
 */
#pragma once

#include "analyzers/trend/curve_fit.h"
#include "analyzers/trend/history.h"
#include "analyzers/trend/trend_line.h"

/*
 * envelope: how a series climbed, from its lower envelope.
 *
 * The envelope of a point is the least of all that came after it, itself included: a height counts
 * as gained when the series did not fall below it again. It never decreases, whatever rises and
 * falls over it, so the ways to climb can be distinguished:
 *
 * rises: (sum of increments)^2 / sum of squared increments. 1 for one jump, k for k equal ones, as
 * many as there are points for a line.
 *
 * pauses: the longest time without a sixteenth of the climb, once it has begun and before the last
 * one; and the time since. A series that has been level twice as long as ever before has stopped.
 *
 * roughness: what neighbours usually differ by, beyond their median difference, as a deviation of
 * independent noise. Jumps do not count: they are few.
 *
 * fall: the largest fall from a height to what came after it: what the series does anyhow.
 *
 * Pure.
 */
struct envelope {
    double climb; /* of the envelope, from the first point to the last */
    double rises; /* see above; at least 0 */
    double longest_pause;
    double pause_now;
    double fall;
    double roughness;
    double largest_rise;   /* between two neighbours but one */
    double largest_rise_x; /* where */
};

void envelope_measure(const double *x, const double *y, int n, struct envelope *envelope);

#define WINDOW_BINS_MIN 8
#define WINDOW_HOUR_MS  3600000.0

struct window {
    int n;
    double x[HISTORY_LEVEL]; /* hours since the history began */
    double y[HISTORY_LEVEL]; /* bytes from origin: mean or low */
    double mean[HISTORY_LEVEL];
    double low[HISTORY_LEVEL];
    double regressor[HISTORY_LEVEL];
    double tame[HISTORY_LEVEL]; /* y without wild bins: what curves are fitted to */
    bool by_low;
    struct trend_line line;   /* through y: what is reported */
    struct trend_line growth; /* the same without its curvature: what decides */
    struct curve_fit curve_fit;
    struct envelope envelope;
};

/* False: fewer than WINDOW_BINS_MIN points. */
bool window_take(struct window *window, const struct history *history, int64_t from_ms);
/* From the first half to the second, extrapolated to the whole, by means or low points: a look
 * before the work. */
double window_rough_rise(const struct window *window);
/* Line and envelope. False when there is no line. */
bool window_draw(struct window *window, double quantum);
/* And curve_fit and growth. False also when the points do not tend upwards at all. */
bool window_weigh(struct window *window, double quantum);
double window_span_h(const struct window *window);
/* Median of the last means. */
double window_end(const struct window *window);

/*
 * regressor: how much of a growth goes with a counter (classes loaded in all), and what is left.
 *
 * y = a + beta regressor + d t by least squares: beta is bytes per class, d the slope that classes
 * do not explain. Its error takes the residuals as autoregressive (trend_line.h). While the counter
 * rises evenly it cannot be distinguished from time: when beta is not four times its error, it is the
 * median slope of y over the counter alone, which explains what it can; the slope left is then 0,
 * with an interval that reaches to the whole slope, because all of it might be something else.
 *
 * Pure.
 */
struct regressor {
    double bytes_per_class;
    double explained_share; /* of the rise of y, 0..1 */
    double left;            /* slope over x that is not explained, with its 95 % interval */
    double left_low;
    double left_high;
};

/* False: the counter is unknown or stands still, or y does not rise by at_least. */
bool regressor_explain(const double *x, const double *y, const double *counter, int n,
                       double quantum, double at_least, struct regressor *regressor);

/*
 * seasonality: does a series that rises and falls with a period stand higher than one period ago?
 *
 * The problem: a day's swing hides a leak. On the falling branch nothing rises, and a slope through
 * few days says more about where they begin and end than about the leak. Compared with the same
 * hour of the day before the swing is gone (seasonal difference; Box and Jenkins 1970, ch. 9):
 *
 *     D(t) = y(t) - y(t - period)
 *
 * A leak is there when D is above 0 nearly always, by day and by night, and the slope is its median
 * over the period. The period is searched around a guess for the most even D. The interval takes D
 * as noise with a memory: s sqrt((1 + r) / (1 - r) / n).
 *
 * Pure.
 */
#define SEASONALITY_PERIODS_MIN 2.5 /* fewer show no difference often enough */

struct seasonality {
    double period;
    double rise;         /* a period, median */
    double share_higher; /* of all t: D > 0 */
    double low_rise;     /* lower quartile of D */
    double last_rise;    /* median of D over the last half period */
    double slope;        /* with its 95 % interval */
    double slope_low;
    double slope_high;
};

/* x ascends. False: fewer than SEASONALITY_PERIODS_MIN periods, or too few points a period. */
bool seasonality_measure(const double *x, const double *y, int n, double period,
                         struct seasonality *seasonality);
