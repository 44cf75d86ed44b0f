#include "analyzers/trend/envelope.h"

#include "analyzers/trend/trend_line.h"

#include <math.h>
#include <string.h>

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
