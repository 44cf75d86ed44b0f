/*
 * stretch: a series from some moment up to now as a few points, and whether it rises in it.
 *
 * What a verdict weighs: the bins of a history, as means or as low points, whichever lies closer to
 * a line (a GC's teeth leave the low points alone, noise the means); its line, its bend, its
 * ascent.
 *
 *   stretch_take -> stretch_weigh -> the fields
 *
 * Plain data of 3 KB; any thread.
 */
#ifndef ANALYZERS_TREND_STRETCH_H
#define ANALYZERS_TREND_STRETCH_H

#include "analyzers/trend/ascent.h"
#include "analyzers/trend/bend.h"
#include "analyzers/trend/history.h"
#include "analyzers/trend/trend_line.h"

#define STRETCH_BINS_MIN 8
#define STRETCH_HOUR_MS  3600000.0

struct stretch {
    int n;
    double x[HISTORY_LEVEL]; /* hours since the history began */
    double y[HISTORY_LEVEL]; /* bytes from origin: mean or low */
    double mean[HISTORY_LEVEL];
    double low[HISTORY_LEVEL];
    double driver[HISTORY_LEVEL];
    double tame[HISTORY_LEVEL]; /* y without wild bins: what curves are fitted to */
    bool by_low;
    struct trend_line line;   /* through y: what is told */
    struct trend_line growth; /* the same without its bend: what is decided by */
    struct bend bend;
    struct ascent ascent;
};

/* False: fewer than STRETCH_BINS_MIN points. */
bool stretch_take(struct stretch *stretch, const struct history *history, int64_t from_ms);
/* From the first half to the second, extrapolated to the whole, by means or low points: a look
 * before the work. */
double stretch_rough_rise(const struct stretch *stretch);
/* Line and ascent. False when there is no line. */
bool stretch_draw(struct stretch *stretch, double quantum);
/* And bend and growth. False also when the points do not tend upwards at all. */
bool stretch_weigh(struct stretch *stretch, double quantum);
double stretch_span_h(const struct stretch *stretch);
/* Median of the last means. */
double stretch_end(const struct stretch *stretch);

#endif
