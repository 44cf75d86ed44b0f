#include "analyzers/trend/stretch.h"

#include <math.h>
#include <string.h>

/* What does not even tend upwards needs no curve. */
#define KENDALL_Z_MIN 1.5
#define WILD          8 /* times the roughness */

bool stretch_take(struct stretch *stretch, const struct history *history, int64_t from_ms)
{
    struct history_bin bins[HISTORY_LEVEL];
    int64_t samples = history_count_since(history, from_ms);
    int max = samples / 2 < HISTORY_LEVEL ? (int)(samples / 2) : HISTORY_LEVEL;
    stretch->by_low = false;
    stretch->n = history_view(history, from_ms, bins, max);
    for (int i = 0; i < stretch->n; i++) {
        stretch->x[i] = bins[i].x_ms / STRETCH_HOUR_MS;
        stretch->mean[i] = stretch->y[i] = bins[i].mean;
        stretch->low[i] = bins[i].low;
        stretch->driver[i] = bins[i].driver;
    }
    return stretch->n >= STRETCH_BINS_MIN;
}

static double rough_rise(const double *y, int n)
{
    double rises[HISTORY_LEVEL / 2];
    int half = n / 2;
    for (int i = 0; i < half; i++)
        rises[i] = y[n - half + i] - y[i];
    return 2 * trend_median(rises, half);
}

double stretch_rough_rise(const struct stretch *stretch)
{
    return fmax(rough_rise(stretch->mean, stretch->n), rough_rise(stretch->low, stretch->n));
}

double stretch_span_h(const struct stretch *stretch)
{
    return stretch->x[stretch->n - 1] - stretch->x[0];
}

double stretch_end(const struct stretch *stretch)
{
    double last[4];
    memcpy(last, stretch->mean + stretch->n - 4, sizeof last);
    return trend_median(last, 4);
}

bool stretch_draw(struct stretch *stretch, double quantum)
{
    struct trend_line low;
    if (!trend_line(stretch->x, stretch->mean, stretch->n, quantum, &stretch->line))
        return false;
    if (trend_line(stretch->x, stretch->low, stretch->n, quantum, &low) &&
        low.doubtful.se < stretch->line.doubtful.se) {
        stretch->by_low = true;
        stretch->line = low;
        memcpy(stretch->y, stretch->low, sizeof stretch->low);
    }
    ascent_measure(stretch->x, stretch->y, stretch->n, &stretch->ascent);
    return true;
}

/* A wild bin would decide which curve is told from which: it becomes the median of its five. */
static void tame(struct stretch *stretch)
{
    double *y = stretch->tame, wild = WILD * stretch->ascent.roughness;
    memcpy(y, stretch->y, sizeof stretch->tame);
    for (int i = 2; i + 2 < stretch->n; i++) {
        double five[5];
        memcpy(five, stretch->y + i - 2, sizeof five);
        double median = trend_median(five, 5);
        if (fabs(y[i] - median) > wild)
            y[i] = median;
    }
}

bool stretch_weigh(struct stretch *stretch, double quantum)
{
    if (!stretch_draw(stretch, quantum) || stretch->line.kendall_z < KENDALL_Z_MIN)
        return false;
    tame(stretch);
    if (!bend_fit(stretch->x, stretch->tame, stretch->n, quantum, &stretch->bend))
        return false;
    const struct bend *bend = &stretch->bend;
    stretch->growth = stretch->line;
    if (bend->best == BEND_LINE)
        return true;
    double straight[HISTORY_LEVEL];
    for (int i = 0; i < stretch->n; i++)
        straight[i] = stretch->y[i] - bend_sag(bend, stretch->x[i] - stretch->x[0]);
    trend_line(stretch->x, straight, stretch->n, quantum, &stretch->growth);
    /* The noise is what is left of the curve; and the median of the slopes of a curve depends a
     * little on where its points are. */
    double steepens = fabs(bend_slope(bend, bend->best, bend->span / stretch->n) -
                           bend_slope(bend, bend->best, bend->span));
    stretch->line.usual = stretch->growth.usual;
    stretch->line.usual.se += fmin(0.015 * steepens, 0.15 * fabs(stretch->line.slope));
    return true;
}
