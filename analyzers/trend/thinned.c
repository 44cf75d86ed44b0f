#include "analyzers/trend/thinned.h"

void thinned_add(struct thinned *series, int64_t ms, int64_t value)
{
    int n = series->count;
    if (n > 0 && ms < series->point[n - 1].ms)
        n = series->count = 0; /* time went back: a new series */
    if (n == THEIL_SEN_POINTS_MAX) {
        int kept = 0;
        for (int i = 0; i < n; i += 2)
            series->point[kept++] = series->point[i];
        int64_t span_ms = series->point[kept - 1].ms - series->point[0].ms;
        series->gap_ms = span_ms / (kept - 1);
        n = series->count = kept;
    }
    if (n > 1 && ms - series->point[n - 2].ms < series->gap_ms)
        n--;
    series->point[n].ms = ms;
    series->point[n].value = value;
    series->count = n + 1;
}

bool thinned_slope_per_h(const struct thinned *series, struct theil_sen *out)
{
    double x[THEIL_SEN_POINTS_MAX], y[THEIL_SEN_POINTS_MAX];
    for (int i = 0; i < series->count; i++) {
        x[i] = (double)(series->point[i].ms - series->point[0].ms) / 3600000.0;
        y[i] = (double)series->point[i].value;
    }
    return theil_sen(x, y, series->count, out);
}

bool thinned_halving_ratio(const struct thinned *series, double *ratio)
{
    if (series->count < 3)
        return false;
    int last = series->count - 1;
    int64_t middle_ms = (series->point[0].ms + series->point[last].ms) / 2;
    int middle = 0;
    while (series->point[middle].ms < middle_ms)
        middle++;
    int64_t first = series->point[middle].value - series->point[0].value;
    int64_t second = series->point[last].value - series->point[middle].value;
    if (first <= 0)
        return false;
    *ratio = (double)second / (double)first;
    return true;
}
