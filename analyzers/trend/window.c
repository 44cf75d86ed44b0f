#include "analyzers/trend/window.h"

#include <math.h>
#include <string.h>

/* A series without an upward trend needs no curve. */
#define KENDALL_Z_MIN 1.5
#define WILD          8 /* times the roughness */

bool window_take(struct window *window, const struct history *history, int64_t from_ms)
{
    struct history_bin bins[HISTORY_LEVEL];
    int64_t samples = history_count_since(history, from_ms);
    int max = samples / 2 < HISTORY_LEVEL ? (int)(samples / 2) : HISTORY_LEVEL;
    window->by_low = false;
    window->n = history_view(history, from_ms, bins, max);
    for (int i = 0; i < window->n; i++) {
        window->x[i] = bins[i].x_ms / WINDOW_HOUR_MS;
        window->mean[i] = window->y[i] = bins[i].mean;
        window->low[i] = bins[i].low;
        window->regressor[i] = bins[i].regressor;
    }
    return window->n >= WINDOW_BINS_MIN;
}

static double rough_rise(const double *y, int n)
{
    double rises[HISTORY_LEVEL / 2];
    int half = n / 2;
    for (int i = 0; i < half; i++)
        rises[i] = y[n - half + i] - y[i];
    return 2 * trend_median(rises, half);
}

double window_rough_rise(const struct window *window)
{
    return fmax(rough_rise(window->mean, window->n), rough_rise(window->low, window->n));
}

double window_span_h(const struct window *window)
{
    return window->x[window->n - 1] - window->x[0];
}

double window_end(const struct window *window)
{
    double last[4];
    memcpy(last, window->mean + window->n - 4, sizeof last);
    return trend_median(last, 4);
}

bool window_draw(struct window *window, double quantum)
{
    struct trend_line low;
    if (!trend_line(window->x, window->mean, window->n, quantum, &window->line))
        return false;
    if (trend_line(window->x, window->low, window->n, quantum, &low) &&
        low.doubtful.se < window->line.doubtful.se) {
        window->by_low = true;
        window->line = low;
        memcpy(window->y, window->low, sizeof window->low);
    }
    envelope_measure(window->x, window->y, window->n, &window->envelope);
    return true;
}

/* A wild bin would decide which curve fits better: it is replaced by the median of its five. */
static void tame(struct window *window)
{
    double *y = window->tame, wild = WILD * window->envelope.roughness;
    memcpy(y, window->y, sizeof window->tame);
    for (int i = 2; i + 2 < window->n; i++) {
        double five[5];
        memcpy(five, window->y + i - 2, sizeof five);
        double median = trend_median(five, 5);
        if (fabs(y[i] - median) > wild)
            y[i] = median;
    }
}

bool window_weigh(struct window *window, double quantum)
{
    if (!window_draw(window, quantum) || window->line.kendall_z < KENDALL_Z_MIN)
        return false;
    tame(window);
    if (!curve_fit_measure(window->x, window->tame, window->n, quantum, &window->curve_fit))
        return false;
    const struct curve_fit *curve_fit = &window->curve_fit;
    window->growth = window->line;
    if (curve_fit->best == CURVE_LINE)
        return true;
    double straight[HISTORY_LEVEL];
    for (int i = 0; i < window->n; i++)
        straight[i] = window->y[i] - curve_fit_sag(curve_fit, window->x[i] - window->x[0]);
    trend_line(window->x, straight, window->n, quantum, &window->growth);
    /* The noise is what is left of the curve; and the median of the slopes of a curve depends a
     * little on where its points are. */
    double steepens =
        fabs(curve_fit_slope(curve_fit, curve_fit->best, curve_fit->span / window->n) -
             curve_fit_slope(curve_fit, curve_fit->best, curve_fit->span));
    window->line.usual = window->growth.usual;
    window->line.usual.se += fmin(0.015 * steepens, 0.15 * fabs(window->line.slope));
    return true;
}

/* --- envelope --------------------------------------------------------------------------------- */

#define PARTS 16

/* A jump may fall into the middle of a bin: increments over two neighbours, from both phases the
 * one that shows fewer rises. */
static double rises(const double *envelope, int n)
{
    double least = INFINITY;
    for (int phase = 0; phase < 2; phase++) {
        double sum = 0, squares = 0;
        for (int i = phase; i + 1 < n; i += 2) {
            double step = envelope[i + 2 < n ? i + 2 : n - 1] - envelope[i];
            sum += step;
            squares += step * step;
        }
        double count = squares > 0 ? sum * sum / squares : 0;
        least = count < least ? count : least;
    }
    return least;
}

static double roughness(const double *y, int n)
{
    double differences[TREND_LINE_POINTS_MAX];
    for (int i = 1; i < n; i++)
        differences[i - 1] = y[i] - y[i - 1];
    double usual = trend_median(differences, n - 1);
    for (int i = 1; i < n; i++)
        differences[i - 1] = fabs(y[i] - y[i - 1] - usual);
    return 1.4826 / sqrt(2) * trend_median(differences, n - 1);
}

void envelope_measure(const double *x, const double *y, int n, struct envelope *envelope)
{
    double low[TREND_LINE_POINTS_MAX];
    memset(envelope, 0, sizeof *envelope);
    if (n < 3 || n > TREND_LINE_POINTS_MAX)
        return;
    low[n - 1] = y[n - 1];
    for (int i = n - 2; i >= 0; i--) {
        low[i] = y[i] < low[i + 1] ? y[i] : low[i + 1];
        if (y[i] - low[i] > envelope->fall)
            envelope->fall = y[i] - low[i];
    }
    envelope->climb = low[n - 1] - low[0];
    envelope->rises = rises(low, n);
    envelope->roughness = roughness(y, n);
    double part = envelope->climb / PARTS, reached_x = x[0];
    int parts = 0, reached = 0;
    for (int i = 0; i < n; i++) {
        double rise = low[i + 1 < n ? i + 1 : i] - low[i > 0 ? i - 1 : i];
        if (rise > envelope->largest_rise) {
            envelope->largest_rise = rise;
            envelope->largest_rise_x = x[i];
        }
        if (part <= 0 || parts == PARTS - 1 || low[i] - low[0] < part * (parts + 1))
            continue;
        /* The last part is not waited for: noise alone decides when it is whole. */
        while (parts < PARTS - 1 && low[i] - low[0] >= part * (parts + 1))
            parts++;
        if (reached > 0) /* what was before the first rise is no pause */
            envelope->longest_pause = fmax(envelope->longest_pause, x[i] - reached_x);
        reached = parts;
        reached_x = x[i];
    }
    envelope->pause_now = x[n - 1] - reached_x;
}

/* --- regressor -------------------------------------------------------------------------------- */

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

/* beta from classes freed of time (Frisch and Waugh, Econometrica 1, 1933). False: not known well. */
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

/* --- seasonality ------------------------------------------------------------------------------ */

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
