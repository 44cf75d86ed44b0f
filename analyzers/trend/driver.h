/*
 * driver: how much of a growth goes with a counter (classes loaded in all), and what is left.
 *
 * y = a + beta driver + d t by least squares: beta is bytes per class, d the slope that classes do
 * not explain. While the counter rises evenly nobody can tell it from time (their correlation is
 * above 0.995): then beta is the median slope of y over the counter alone, and explains what it can.
 * The slope left, with its interval, is that of y - beta driver (trend_line.h).
 *
 * Pure.
 */
#ifndef ANALYZERS_TREND_DRIVER_H
#define ANALYZERS_TREND_DRIVER_H

#include "analyzers/trend/trend_line.h"

struct driver {
    double bytes_per_class;
    double explained_share; /* of the rise of y, 0..1 */
    struct trend_line left; /* of y - beta driver over x */
};

/* False: the counter is unknown or stands still, or y does not rise by at_least. */
bool driver_explain(const double *x, const double *y, const double *counter, int n, double quantum,
                    double at_least, struct driver *driver);

#endif
