#include "analyzers/trend/drift.h"

#include "analyzers/trend/trend_line.h"

#include <math.h>

#define INTERVAL 0.05
#define BEND_P   0.05 /* how surely a start-up is excluded */
#define BEND_SURE                                                                                  \
    (2.0 / 3) /* the second half to the first: below that it ends, whatever the noise */

bool drift_measure(const double *x, const double *y, int n, double quantum, double p,
                   struct drift *drift)
{
    if (n < DRIFT_POINTS_MIN)
        return false;
    double span = x[n - 1] - x[0], slope = (y[n - 1] - y[0]) / span, squares = 0, top = y[0];
    *drift = (struct drift){.span = span, .slope = slope};
    for (int i = 1; i < n; i++) {
        double dx = x[i] - x[i - 1], away = y[i] - y[i - 1] - slope * dx;
        squares += away * away / dx;
        top = fmax(top, y[i]);
        drift->fall = fmax(drift->fall, top - y[i]);
    }
    /* A step is a difference of two rounded values. */
    double rounding = quantum * quantum / 6 * (n - 1) / span;
    drift->deviation = sqrt(fmax(squares / (n - 2), rounding));
    double error = drift->deviation / sqrt(span);
    double reach = student_quantile(INTERVAL, n - 2) * error;
    drift->low = slope - reach;
    drift->high = slope + reach;
    drift->certain = slope - student_quantile(2 * p, n - 2) * error;
    return true;
}

/* Of a start-up the slope in the middle of the second half is exp(-distance / constant) of that in
 * the middle of the first. */
bool drift_may_end(const struct drift *drift, const double *x, const double *y, int n,
                   double start_up)
{
    int last = n - 1, middle = last / 2;
    double first_x = x[middle] - x[0], second_x = x[last] - x[middle];
    double first = (y[middle] - y[0]) / first_x, second = (y[last] - y[middle]) / second_x;
    double share = exp(-drift->span / 2 / fmin(start_up, 3 * drift->span));
    double error = drift->deviation * sqrt(1 / second_x + share * share / first_x);
    double reach = student_quantile(2 * BEND_P, n - 2) * error;
    return second < BEND_SURE * first || second - share * first <= reach;
}
