#include "analyzers/trend/seasonality.h"

#include "analyzers/trend/student.h"
#include "analyzers/trend/trend_line.h"

#include <math.h>
#include <string.h>

#define POINTS_A_PERIOD 5
#define SEARCH          0.25 /* how far from the guess, as a share of it */
#define TRIALS          26

/* Differences to one period before, between the points; returns how many. */
static int differences(const double *x, const double *y, int n, double period, double *d)
{
    int count = 0, j = 0;
    for (int i = 0; i < n; i++) {
        double then = x[i] - period;
        if (then < x[0])
            continue;
        while (j + 2 < n && x[j + 1] < then)
            j++;
        double share = (then - x[j]) / (x[j + 1] - x[j]);
        d[count++] = y[i] - (y[j] + share * (y[j + 1] - y[j]));
    }
    return count;
}

static double median_of(const double *d, int n)
{
    double copy[TREND_LINE_POINTS_MAX];
    memcpy(copy, d, (size_t)n * sizeof *d);
    return trend_median(copy, n);
}

static double mean_square(const double *d, int n, double middle)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (d[i] - middle) * (d[i] - middle);
    return sum / n;
}

static void set_slope(struct seasonality *seasonality, const double *d, int n)
{
    double squares = 0, lagged = 0;
    for (int i = 0; i < n; i++) {
        squares += (d[i] - seasonality->rise) * (d[i] - seasonality->rise);
        lagged += i > 0 ? (d[i] - seasonality->rise) * (d[i - 1] - seasonality->rise) : 0;
    }
    double r = squares > 0 ? (n * lagged / squares + 1) / (n - 3) : 0;
    r = r < 0 ? 0 : r > 0.95 ? 0.95 : r;
    double independent = fmax(2, n * (1 - r) / (1 + r));
    double se = sqrt(squares / n / independent);
    double reach = se * student_quantile(0.05, independent - 1);
    seasonality->slope = seasonality->rise / seasonality->period;
    seasonality->slope_low = (seasonality->rise - reach) / seasonality->period;
    seasonality->slope_high = (seasonality->rise + reach) / seasonality->period;
}

bool seasonality_measure(const double *x, const double *y, int n, double period,
                         struct seasonality *seasonality)
{
    double d[TREND_LINE_POINTS_MAX], best = INFINITY;
    if (n < 12 || n > TREND_LINE_POINTS_MAX || period <= 0)
        return false;
    double span = x[n - 1] - x[0];
    for (int i = 0; i < TRIALS; i++) {
        double tried = period * (1 - SEARCH + 2 * SEARCH * i / (TRIALS - 1));
        if (span < SEASONALITY_PERIODS_MIN * tried || n * tried / span < POINTS_A_PERIOD)
            continue;
        int count = differences(x, y, n, tried, d);
        double uneven = mean_square(d, count, median_of(d, count));
        if (uneven < best) {
            best = uneven;
            seasonality->period = tried;
        }
    }
    if (isinf(best))
        return false;
    int count = differences(x, y, n, seasonality->period, d), higher = 0;
    int last = (int)(count * seasonality->period / 2 / (span - seasonality->period));
    last = last < 2 ? 2 : last > count ? count : last;
    for (int i = 0; i < count; i++)
        higher += d[i] > 0;
    seasonality->share_higher = (double)higher / count;
    seasonality->rise = median_of(d, count);
    seasonality->last_rise = median_of(d + count - last, last);
    set_slope(seasonality, d, count);
    seasonality->low_rise = trend_select(d, count, count / 4);
    return true;
}
