/*
 * estimate: level and slope of a window of a series, with intervals that may be subtracted: the
 * arithmetic of comparing two recordings.
 *
 * The window is cut into blocks of equal time, of which only the medians count: a spike is not
 * seen, and neighbouring samples, which know of each other, do not pretend to be independent.
 * Blocks are made twice as long while the residuals of neighbours still agree (lag-1
 * autocorrelation r above 0.3); what agreement is left widens the interval by sqrt((1+r)/(1-r)),
 * the usual correction of the effective number of samples for AR(1) noise (Bayley & Hammersley, J.
 * R. Stat. Soc. Suppl. 8, 1946).
 *
 *   slope       Theil-Sen over the blocks with Sen's interval (analyzers/trend/trend_line.h)
 *   level       at the end of the window: mean of the blocks -/+ Student's t * standard error;
 * where the slope is certain the line's end, whose standard error is twice that of the mean
 *   difference  b - a; half-widths add in quadrature
 *
 * No interval is narrower than the quantum the values come in. What these intervals hold is the
 * noise within a run: two runs of the same program differ by more. Pure; any thread.
 */
#ifndef ANALYZERS_SOAK_ESTIMATE_H
#define ANALYZERS_SOAK_ESTIMATE_H

#include "analyzers/soak/points.h"

struct estimate {
    bool known; /* false: too few points */
    double value;
    double low; /* 95 % */
    double high;
};

/* Over from_ms <= ms <= to_ms. quantum: the smallest step of a value, 1024 or 1. */
struct estimate estimate_level(const struct points *points, int64_t from_ms, int64_t to_ms,
                               double quantum);
/* Per hour. */
struct estimate estimate_slope(const struct points *points, int64_t from_ms, int64_t to_ms,
                               double quantum);
/* Growth of the series for each step of a counter (requests, deployments): a slope over the
 * counter, which is looked up at the series' times. Unknown while the counter has moved by less
 * than three. */
struct estimate estimate_per_step(const struct points *points, const struct points *counter,
                                  int64_t from_ms, int64_t to_ms, double quantum);
/* b - a. */
struct estimate estimate_difference(struct estimate a, struct estimate b);

#endif
