/*
 * curve_fit: is growth linear, does it level off at a plateau, or slow down without end?
 *
 * Curves fitted by least squares, t from the first point on:
 *
 *     line       y = a + d t
 *     plateau    y = a + b (1 - exp(-t / c))           start-up that ends
 *     plateau and line  y = a + b (1 - exp(-t / c)) + d t     start-up with a leak after it
 *     logarithm  y = a + b ln(1 + t / c)               slower and slower, without end
 *     root       y = a + b sqrt(c + t)                 the same, less so
 *     quadratic  y = a + d t + b t^2, b > 0            faster and faster
 *     onset      y = a + b max(0, t - c)               a leak that began at c
 *     end        y = a + b min(t, c)                   one that ended at c
 *     step       y = a + b [t > c]                     two levels
 *
 * c is searched on a grid, then to half a percent. The best is chosen by AICc = n ln(RSS/n) + 2k +
 * 2k(k+1)/(n-k-1) (Hurvich and Tsai, Biometrika 76, 1989), with n reduced to the number of
 * independent points when the residuals are autocorrelated: n (1 - r) / (1 + r).
 *
 * Halving ratio: growth of the second half over growth of the first: 1 for a line, below for what
 * slows down, above for what accelerates; with an interval from the slopes of the halves.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>

enum curve {
    CURVE_LINE,
    CURVE_PLATEAU,
    CURVE_PLATEAU_AND_LINE,
    CURVE_LOGARITHM,
    CURVE_ROOT,
    CURVE_QUADRATIC,
    CURVE_ONSET,
    CURVE_END,
    CURVE_STEP,
    CURVES
};

#define CURVE_FIT_CLEARLY 8 /* in units of AICc */

struct curve_fit {
    enum curve best; /* a line, unless another is better by CURVE_FIT_CLEARLY */
    struct curve_parameters {
        double a, b, c, d;
        double rss;
        double aicc;
    } fit[CURVES];
    double n; /* independent points */
    double span;
    bool have_ratio; /* the first half grew */
    double ratio;
    double ratio_low; /* 95 % */
    double ratio_high;
};

/* x ascends. quantum: the steps y is counted in. False with fewer than eight points. */
bool curve_fit_measure(const double *x, const double *y, int n, double quantum,
                       struct curve_fit *curve_fit);
/* Of a fitted curve, t after the first point: its slope, and how much a plateau is still away. */
double curve_fit_slope(const struct curve_fit *curve_fit, enum curve curve, double t);
double curve_fit_left(const struct curve_fit *curve_fit, double t);
/* What has to be taken from a point at t so that the best curve becomes the line from its beginning
 * to its end: growth as it is, without its curvature. */
double curve_fit_sag(const struct curve_fit *curve_fit, double t);
/* Could these points be a start-up with the time constant c: does it fit about as well as the best
 * curve? */
bool curve_fit_may_be_plateau(const struct curve_fit *curve_fit, const double *x, const double *y,
                              int n, double c);
