/*
 * drift: is a rise more than a random walk would do? For series of few values that are expensive (a class
 * histogram stops the JVM), of whose noise nothing is known.
 *
 * The problem: trend_line.h learns from the points how much their noise remembers, which takes two
 * dozen. Of eight points nothing of that can be learnt, so the worst is assumed: they are a random
 * walk, whose steps all add up. If it has a drift b, its steps are independent, of mean b dx and
 * variance s^2 dx, whatever the spacing, and
 *
 *     b = (y_n - y_1) / X      s^2 = sum((dy_i - b dx_i)^2 / dx_i) / (n - 2)      X = x_n - x_1
 *     b / (s / sqrt X) has Student's distribution with n - 2 degrees of freedom
 *
 * which is exact for normal steps at any n. Noise around a level has steps that take each other
 * back: for it, and for steps with heavy tails, the test errs less often than it says. The rates on
 * made series, walks among them, are those of set 3 in docs/internals/error-rates.md.
 *
 * What no statistics can exclude is the first tooth of a slow sawtooth and the first morning of a
 * day.
 *
 * Pure, no allocation; any thread.
 */
#ifndef ANALYZERS_TREND_DRIFT_H
#define ANALYZERS_TREND_DRIFT_H

#include <stdbool.h>

#define DRIFT_POINTS_MIN 4

struct drift {
    double span;  /* of x */
    double slope; /* y per x */
    double low;   /* 95 % interval */
    double high;
    double certain; /* the slope is above this, but for probability p */
    double fall;    /* the largest, from a height to what came after it */
    double deviation;
};

/* x ascends strictly. quantum: the steps in which y is counted. p: one-sided. False with less than
 * DRIFT_POINTS_MIN points. */
bool drift_measure(const double *x, const double *y, int n, double quantum, double p,
                   struct drift *drift);
/* Flattens so much that it may be the beginning of a start-up of this time constant, or reaches its end.
 * One that is much longer than the series looks like a line: three times the span is what can be
 * told. */
bool drift_may_end(const struct drift *drift, const double *x, const double *y, int n,
                   double start_up);

#endif
