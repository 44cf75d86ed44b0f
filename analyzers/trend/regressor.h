/*
 * regressor: how much of a growth goes with a counter (classes loaded in all), and what is left.
 *
 * y = a + beta regressor + d t by least squares: beta is bytes per class, d the slope that classes
 * do not explain. Its error takes the residuals as autoregressive (trend_line.h). While the counter
 * rises evenly nobody can tell it from time: when beta is not four times its error, it is the
 * median slope of y over the counter alone, which explains what it can; the slope left is then 0,
 * with an interval that reaches to the whole slope, because all of it might be something else.
 *
 * Pure.
 */
#ifndef ANALYZERS_TREND_REGRESSOR_H
#define ANALYZERS_TREND_REGRESSOR_H

#include <stdbool.h>

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

#endif
