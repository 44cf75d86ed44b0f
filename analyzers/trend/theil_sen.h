/*
 * theil_sen: the slope of a series that a few wild points cannot curve_fit, with its interval.
 *
 * Slope: median of the slopes of all pairs (Theil 1950; Sen, J. Am. Stat. Assoc. 63, 1968, 1379).
 * Interval (Sen 1968, eq. 2.6): with N pairs and
 *     V = [n(n-1)(2n+5) - sum over ties t(t-1)(2t+5)] / 18
 * the pairs ranked (N - z sqrt V)/2 and (N + z sqrt V)/2 bound it; z = 1.96 for 95 %. It assumes
 * independent noise: on autocorrelated series it is too narrow, so a caller must also demand a
 * minimum span and growth.
 *
 * Cost O(n^2 log n) at n <= THEIL_SEN_POINTS_MAX; memory is on the caller's heap through the
 * workspace. Pure; any thread.
 */
#ifndef ANALYZERS_TREND_THEIL_SEN_H
#define ANALYZERS_TREND_THEIL_SEN_H

#include <stdbool.h>

#define THEIL_SEN_POINTS_MAX 96

struct theil_sen {
    double slope; /* y per x */
    double low;   /* 95 % interval */
    double high;
};

/* False with fewer than four points, more than the maximum, no two different x, or no memory. */
bool theil_sen(const double *x, const double *y, int n, struct theil_sen *out);

#endif
