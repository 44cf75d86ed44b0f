#include "analyzers/trend/regressor.h"

#include "analyzers/trend/trend_line.h"

#include <math.h>

#define POINTS_MIN  8
#define CLASSES_MIN 20 /* fewer explain nothing */
#define KNOWN       4  /* errors that beta must be away from 0 */

struct points {
    int n;
    double t[TREND_LINE_POINTS_MAX];
    double classes[TREND_LINE_POINTS_MAX];
    double bytes[TREND_LINE_POINTS_MAX];
};

static double mean_of(const double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum / n;
}

static double product(const double *a, const double *b, int n)
{
    double a_mean = mean_of(a, n), b_mean = mean_of(b, n), sum = 0;
    for (int i = 0; i < n; i++)
        sum += (a[i] - a_mean) * (b[i] - b_mean);
    return sum;
}

/* beta from classes freed of time (Frisch and Waugh, Econometrica 1, 1933). False: not known well.
 */
static bool joint(const struct points *p, double *beta)
{
    double freed[TREND_LINE_POINTS_MAX] = {0}, left[TREND_LINE_POINTS_MAX] = {0};
    double tt = product(p->t, p->t, p->n), tc = product(p->t, p->classes, p->n);
    double tb = product(p->t, p->bytes, p->n);
    if (tt <= 0)
        return false;
    for (int i = 0; i < p->n; i++) {
        freed[i] = p->classes[i] - tc / tt * p->t[i];
        left[i] = p->bytes[i] - tb / tt * p->t[i];
    }
    double ff = product(freed, freed, p->n);
    if (ff <= 1e-6 * product(p->classes, p->classes, p->n))
        return false;
    *beta = product(freed, left, p->n) / ff;
    for (int i = 0; i < p->n; i++)
        left[i] -= *beta * freed[i];
    double mean = mean_of(left, p->n), squares = 0, lagged = 0;
    for (int i = 0; i < p->n; i++) {
        squares += (left[i] - mean) * (left[i] - mean);
        lagged += i > 0 ? (left[i] - mean) * (left[i - 1] - mean) : 0;
    }
    double r = squares > 0 ? fmin(0.95, fmax(0, lagged / squares)) : 0;
    double error = sqrt(squares / (p->n - 3) * (1 + r) / (1 - r) / ff);
    return *beta > KNOWN * error;
}

bool regressor_explain(const double *x, const double *y, const double *counter, int n,
                       double quantum, double at_least, struct regressor *regressor)
{
    struct points p = {0};
    for (int i = 0; i < n && i < TREND_LINE_POINTS_MAX; i++) {
        if (isnan(counter[i]))
            continue;
        p.t[p.n] = x[i];
        p.classes[p.n] = counter[i];
        p.bytes[p.n++] = y[i];
    }
    struct trend_line whole, over_classes, left;
    if (p.n < POINTS_MIN || p.classes[p.n - 1] - p.classes[0] < CLASSES_MIN ||
        !trend_line(p.t, p.bytes, p.n, quantum, &whole))
        return false;
    bool known = joint(&p, &regressor->bytes_per_class);
    if (!known) {
        if (!trend_line(p.classes, p.bytes, p.n, quantum, &over_classes))
            return false;
        regressor->bytes_per_class = over_classes.slope;
    }
    double rise = p.bytes[p.n - 1] - p.bytes[0];
    double share = regressor->bytes_per_class * (p.classes[p.n - 1] - p.classes[0]) / rise;
    regressor->explained_share = share < 0 ? 0 : share > 1 ? 1 : share;
    for (int i = 0; i < p.n; i++)
        p.bytes[i] -= regressor->bytes_per_class * (p.classes[i] - p.classes[0]);
    if (rise < at_least || !trend_line(p.t, p.bytes, p.n, quantum, &left))
        return false;
    double reach = trend_line_reach(&left, 0.05);
    regressor->left = left.slope;
    regressor->left_low = left.slope - reach;
    regressor->left_high = left.slope + reach;
    if (!known)
        regressor->left_high =
            fmax(regressor->left_high, whole.slope + trend_line_reach(&whole, 0.05));
    return true;
}
