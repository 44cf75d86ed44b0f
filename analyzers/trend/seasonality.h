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
#ifndef ANALYZERS_TREND_SEASONALITY_H
#define ANALYZERS_TREND_SEASONALITY_H

#include <stdbool.h>

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

#endif
