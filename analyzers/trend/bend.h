/*
 * bend: is growth straight, does it bend towards a plateau, or away?
 *
 * Three curves are fitted to the points by least squares, with t from the first one on:
 *
 *     line      y = a + b t
 *     plateau   y = a + b (1 - exp(-t / c))     start-up: c on a grid of span/30 .. 2 span
 *     creep     y = a + b ln(1 + t / c)         slows down for ever: c on a grid of span/1000 ..
 * span
 *
 * and compared by AICc = n ln(RSS/n) + 2k + 2k(k+1)/(n-k-1) (Sugiura 1978; Hurvich and Tsai,
 * Biometrika 76, 1989), which charges the two curves for their c. A plateau whose c is far beyond
 * the span is a line as far as anybody can see.
 *
 * Halving ratio: growth of the second half over growth of the first: 1 for a line, below for what
 * slows down, above for what accelerates; with an interval from the slopes of the halves.
 *
 * Pure; about 10 us at 40 points.
 */
#ifndef ANALYZERS_TREND_BEND_H
#define ANALYZERS_TREND_BEND_H

#include <stdbool.h>

enum bend_curve { BEND_LINE, BEND_PLATEAU, BEND_CREEP };

struct bend {
    enum bend_curve best;
    double aicc[3];
    double a, b, c; /* of the plateau */
    double creep_a, creep_b, creep_c;
    bool have_ratio;                     /* the first half grew */
    double ratio, ratio_low, ratio_high; /* 95 % */
};

/* x ascends. False with fewer than eight points. */
bool bend_fit(const double *x, const double *y, int n, double quantum, struct bend *bend);
/* Slope of the plateau curve at t after the first point; what of it is still to come. */
double bend_plateau_slope(const struct bend *bend, double t);
double bend_plateau_left(const struct bend *bend, double t);

#endif
