#include "analyzers/trend/ascent.h"

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

void ascent_measure(const double *x, const double *y, int n, struct ascent *ascent)
{
    double envelope[TREND_LINE_POINTS_MAX];
    memset(ascent, 0, sizeof *ascent);
    if (n < 3 || n > TREND_LINE_POINTS_MAX)
        return;
    envelope[n - 1] = y[n - 1];
    for (int i = n - 2; i >= 0; i--) {
        envelope[i] = y[i] < envelope[i + 1] ? y[i] : envelope[i + 1];
        if (y[i] - envelope[i] > ascent->fall)
            ascent->fall = y[i] - envelope[i];
    }
    ascent->climb = envelope[n - 1] - envelope[0];
    ascent->rises = rises(envelope, n);
    ascent->roughness = roughness(y, n);
    double part = ascent->climb / PARTS, reached_x = x[0];
    int parts = 0, reached = 0;
    for (int i = 0; i < n; i++) {
        double rise = envelope[i + 1 < n ? i + 1 : i] - envelope[i > 0 ? i - 1 : i];
        if (rise > ascent->largest_rise) {
            ascent->largest_rise = rise;
            ascent->largest_rise_x = x[i];
        }
        if (part <= 0 || parts == PARTS - 1 || envelope[i] - envelope[0] < part * (parts + 1))
            continue;
        /* The last part is not waited for: noise alone decides when it is whole. */
        while (parts < PARTS - 1 && envelope[i] - envelope[0] >= part * (parts + 1))
            parts++;
        if (reached > 0) /* what was before the first rise is no pause */
            ascent->longest_pause = fmax(ascent->longest_pause, x[i] - reached_x);
        reached = parts;
        reached_x = x[i];
    }
    ascent->pause_now = x[n - 1] - reached_x;
}
