#include "analyzers/trend/bend.h"

#include "analyzers/trend/trend_line.h"

#include <math.h>
#include <string.h>

/* Least squares of y on one regressor; returns the residual sum of squares. */
static double fit(const double *u, const double *y, int n, double *a, double *b)
{
    double u_mean = 0, y_mean = 0, suu = 0, suy = 0, syy = 0;
    for (int i = 0; i < n; i++) {
        u_mean += u[i] / n;
        y_mean += y[i] / n;
    }
    for (int i = 0; i < n; i++) {
        suu += (u[i] - u_mean) * (u[i] - u_mean);
        suy += (u[i] - u_mean) * (y[i] - y_mean);
        syy += (y[i] - y_mean) * (y[i] - y_mean);
    }
    *b = suu > 0 ? suy / suu : 0;
    *a = y_mean - *b * u_mean;
    double rss = syy - *b * suy;
    return rss > 0 ? rss : 0;
}

static double aicc(double rss, int n, int k, double least)
{
    double mean = rss / n > least ? rss / n : least;
    return n * log(mean) + 2 * k + 2.0 * k * (k + 1) / (n - k - 1);
}

static void halves(const double *x, const double *y, int n, double quantum, struct bend *bend)
{
    struct trend_line first, second;
    int half = n / 2;
    if (!trend_line(x, y, half, quantum, &first) ||
        !trend_line(x + half, y + half, n - half, quantum, &second) || first.slope <= 0)
        return;
    double reach_first = trend_line_reach(&first, 0.05);
    double reach = trend_line_reach(&second, 0.05);
    bend->have_ratio = true;
    bend->ratio = second.slope / first.slope;
    double relative = hypot(reach, bend->ratio * reach_first) / first.slope;
    bend->ratio_low = bend->ratio - relative;
    bend->ratio_high = bend->ratio + relative;
}

bool bend_fit(const double *x, const double *y, int n, double quantum, struct bend *bend)
{
    memset(bend, 0, sizeof *bend);
    if (n < 8 || n > TREND_LINE_POINTS_MAX)
        return false;
    double u[TREND_LINE_POINTS_MAX], a, b, span = x[n - 1] - x[0];
    /* What is counted in steps cannot be fitted better than to their rounding. */
    double least = quantum * quantum / 12 + 1e-300;
    for (int i = 0; i < n; i++)
        u[i] = x[i] - x[0];
    bend->aicc[BEND_LINE] = aicc(fit(u, y, n, &a, &b), n, 3, least);
    double best = INFINITY;
    for (double c = span / 30; c <= span * 2.01; c *= 1.35) {
        for (int i = 0; i < n; i++)
            u[i] = 1 - exp(-(x[i] - x[0]) / c);
        double rss = fit(u, y, n, &a, &b);
        if (rss < best) {
            best = rss;
            bend->a = a;
            bend->b = b;
            bend->c = c;
        }
    }
    bend->aicc[BEND_PLATEAU] = aicc(best, n, 4, least);
    best = INFINITY;
    for (double c = span / 1000; c <= span * 1.01; c *= 2.5) {
        for (int i = 0; i < n; i++)
            u[i] = log1p((x[i] - x[0]) / c);
        double rss = fit(u, y, n, &a, &b);
        if (rss < best) {
            best = rss;
            bend->creep_a = a;
            bend->creep_b = b;
            bend->creep_c = c;
        }
    }
    bend->aicc[BEND_CREEP] = aicc(best, n, 4, least);
    bend->best = BEND_LINE;
    if (bend->aicc[BEND_PLATEAU] < bend->aicc[bend->best])
        bend->best = BEND_PLATEAU;
    if (bend->aicc[BEND_CREEP] < bend->aicc[bend->best])
        bend->best = BEND_CREEP;
    halves(x, y, n, quantum, bend);
    return true;
}

double bend_plateau_slope(const struct bend *bend, double t)
{
    return bend->c > 0 ? bend->b / bend->c * exp(-t / bend->c) : 0;
}

double bend_plateau_left(const struct bend *bend, double t)
{
    return bend->c > 0 ? bend->b * exp(-t / bend->c) : 0;
}
