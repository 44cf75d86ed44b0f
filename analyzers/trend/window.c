#include "analyzers/trend/window.h"

#include <math.h>
#include <string.h>

/* What does not even tend upwards needs no curve. */
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

/* A wild bin would decide which curve is told from which: it becomes the median of its five. */
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
