/*
 * bend: is growth straight, does it bend towards a plateau, or slow down for ever?
 *
 * Curves fitted by least squares, t from the first point on:
 *
 *     line       y = a + d t
 *     plateau    y = a + b (1 - exp(-t / c))           start-up that ends
 *     both       y = a + b (1 - exp(-t / c)) + d t     start-up with a leak after it
 *     creep      y = a + b ln(1 + t / c)               slower and slower, without end
 *     root       y = a + b sqrt(c + t)                 the same, less so
 *     faster     y = a + d t + b t^2, b > 0            faster and faster
 *     late       y = a + b max(0, t - c)               a leak that began at c
 *     stopped    y = a + b min(t, c)                   one that ended at c
 *     jump       y = a + b [t > c]                     two levels
 *
 * c is searched on a grid, then to half a percent. The best is chosen by AICc = n ln(RSS/n) + 2k +
 * 2k(k+1)/(n-k-1) (Hurvich and Tsai, Biometrika 76, 1989), with n reduced to the number of
 * independent points when the residuals remember: n (1 - r) / (1 + r).
 *
 * Halving ratio: growth of the second half over growth of the first: 1 for a line, below for what
 * slows down, above for what accelerates; with an interval from the slopes of the halves.
 *
 * Pure.
 */
#ifndef ANALYZERS_TREND_BEND_H
#define ANALYZERS_TREND_BEND_H

#include <stdbool.h>

enum bend_curve {
    BEND_LINE,
    BEND_PLATEAU,
    BEND_BOTH,
    BEND_CREEP,
    BEND_ROOT,
    BEND_FASTER,
    BEND_LATE,
    BEND_STOPPED,
    BEND_JUMP,
    BEND_CURVES
};

#define BEND_CLEARLY 8 /* in units of AICc */

struct bend {
    enum bend_curve best; /* a line, unless another is better by BEND_CLEARLY */
    struct bend_fit {
        double a, b, c, d;
        double rss;
        double aicc;
    } fit[BEND_CURVES];
    double n; /* independent points */
    double span;
    bool have_ratio; /* the first half grew */
    double ratio;
    double ratio_low; /* 95 % */
    double ratio_high;
};

/* x ascends. quantum: the steps y is counted in. False with fewer than eight points. */
bool bend_fit(const double *x, const double *y, int n, double quantum, struct bend *bend);
/* Of a fitted curve, t after the first point: its slope, and how much a plateau is still away. */
double bend_slope(const struct bend *bend, enum bend_curve curve, double t);
double bend_left(const struct bend *bend, double t);
/* What has to be taken from a point at t so that the best curve becomes the line from its beginning
 * to its end: growth as it is, without its bend. */
double bend_sag(const struct bend *bend, double t);
/* Could these points be a start-up with the time constant c: does it fit about as well as the best
 * curve? */
bool bend_may_be_plateau(const struct bend *bend, const double *x, const double *y, int n,
                         double c);

#endif
