/*
 * window: a series from some moment up to now as a few points, and whether it rises in it.
 *
 * What a verdict weighs: the bins of a history, as means or as low points, whichever lies closer to
 * a line (a GC's teeth leave the low points alone, noise the means); its line, its curve, its
 * envelope.
 *
 *   window_take -> window_weigh -> the fields
 *
 * Plain data of 3 KB; any thread.
 */
#ifndef ANALYZERS_TREND_WINDOW_H
#define ANALYZERS_TREND_WINDOW_H

#include "analyzers/trend/envelope.h"
#include "analyzers/trend/curve_fit.h"
#include "analyzers/trend/history.h"
#include "analyzers/trend/trend_line.h"

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
    struct trend_line line;   /* through y: what is told */
    struct trend_line growth; /* the same without its curvature: what is decided by */
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

#endif
