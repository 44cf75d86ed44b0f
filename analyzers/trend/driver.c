#include "analyzers/trend/driver.h"

#include <math.h>

#define POINTS_MIN  8
#define COLLINEAR   0.99 /* correlation squared */
#define CLASSES_MIN 20   /* fewer explain nothing */

static double mean_of(const double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum / n;
}

static double product(const double *a, double a_mean, const double *b, double b_mean, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (a[i] - a_mean) * (b[i] - b_mean);
    return sum;
}

bool driver_explain(const double *x, const double *y, const double *counter, int n, double quantum,
                    double at_least, struct driver *driver)
{
    double t[TREND_LINE_POINTS_MAX], c[TREND_LINE_POINTS_MAX], b[TREND_LINE_POINTS_MAX];
    int known = 0;
    for (int i = 0; i < n && i < TREND_LINE_POINTS_MAX; i++) {
        if (isnan(counter[i]))
            continue;
        t[known] = x[i];
        c[known] = counter[i];
        b[known++] = y[i];
    }
    if (known < POINTS_MIN || c[known - 1] - c[0] < CLASSES_MIN)
        return false;
    double t_mean = mean_of(t, known), c_mean = mean_of(c, known), b_mean = mean_of(b, known);
    double tt = product(t, t_mean, t, t_mean, known), cc = product(c, c_mean, c, c_mean, known);
    double tc = product(t, t_mean, c, c_mean, known), tb = product(t, t_mean, b, b_mean, known);
    double cb = product(c, c_mean, b, b_mean, known);
    if (tc * tc > COLLINEAR * tt * cc) {
        struct trend_line over_classes;
        if (!trend_line(c, b, known, quantum, &over_classes))
            return false;
        driver->bytes_per_class = over_classes.slope;
    } else {
        driver->bytes_per_class = (cb * tt - tb * tc) / (cc * tt - tc * tc);
    }
    double rise = b[known - 1] - b[0];
    double share = driver->bytes_per_class * (c[known - 1] - c[0]) / rise;
    driver->explained_share = share < 0 ? 0 : share > 1 ? 1 : share;
    for (int i = 0; i < known; i++)
        b[i] -= driver->bytes_per_class * (c[i] - c[0]);
    return rise >= at_least && trend_line(t, b, known, quantum, &driver->left);
}
