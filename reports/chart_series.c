#include "reports/chart_series.h"

#include "analyzers/native/internal.h"

#include <stdlib.h>

#define GAP_FACTOR 5 /* so many usual distances without a value are a gap */

/* --- values of a sample ------------------------------------------------------------------------
 */

bool series_field(const struct story *story, const struct sample *sample, int which, double *value)
{
    (void)story;
    int64_t number;
    if (!sample_get(sample, (enum sample_field)which, &number))
        return false;
    *value = (double)number;
    return true;
}

bool series_category(const struct story *story, const struct sample *sample, int which,
                     double *value)
{
    (void)story;
    struct nmt_amount amount;
    if (!sample_get_nmt(sample, (enum nmt_category)which, &amount))
        return false;
    *value = (double)amount.committed_bytes;
    return true;
}

bool series_live_classes(const struct story *story, const struct sample *sample, int which,
                         double *value)
{
    (void)story, (void)which;
    int64_t loaded, unloaded;
    if (!sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded) ||
        !sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded))
        return false;
    *value = (double)loaded - (double)unloaded;
    return true;
}

bool series_internal(const struct story *story, const struct sample *sample, int which,
                     double *value)
{
    (void)which;
    int64_t bytes;
    if (!internal_bytes(sample, story->identity.jdk_major, &bytes))
        return false;
    *value = (double)bytes;
    return true;
}

/* One meaning for a whole story: the two sources differ by the malloc'ed part of Class. */
bool series_class_memory(const struct story *story, const struct sample *sample, int which,
                         double *value)
{
    (void)which;
    int64_t bytes;
    bool nmt = story->view.have_class_metaspace;
    if (nmt ? !class_metaspace_bytes(sample, &bytes)
            : !sample_get(sample, SAMPLE_METASPACE_COMMITTED_BYTES, &bytes))
        return false;
    *value = (double)bytes;
    return true;
}

/* --- collecting --------------------------------------------------------------------------------
 */

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Marks what is too far from its predecessor, measured by the usual distance in this series (NMT is
 * asked less often than the counters); also where a recording jumps back in time. */
static bool mark_gaps(struct series *series)
{
    if (series->count < 3)
        return true;
    double *distance = malloc((size_t)series->count * sizeof *distance);
    if (distance == NULL)
        return false;
    int count = 0;
    for (int i = 1; i < series->count; i++)
        distance[count++] = series->point[i].ms - series->point[i - 1].ms;
    qsort(distance, (size_t)count, sizeof *distance, by_value);
    double usual_ms = distance[count / 2];
    free(distance);
    for (int i = 1; i < series->count; i++) {
        double apart_ms = series->point[i].ms - series->point[i - 1].ms;
        if (apart_ms < 0 || (usual_ms > 0 && apart_ms > GAP_FACTOR * usual_ms))
            series->point[i].gap = true;
    }
    return true;
}

bool series_collect(struct series *series, const struct story *story, series_take_fn *x,
                    series_take_fn *y, int which)
{
    series->count = 0;
    series->point = calloc((size_t)story->point_count + 1, sizeof *series->point);
    if (series->point == NULL)
        return false;
    for (int i = 0; i < story->point_count; i++) {
        const struct sample *sample = &story->points[i].sample;
        struct series_point point = {.ms = (double)story->points[i].ms};
        point.x = point.ms;
        if ((x == NULL || x(story, sample, which, &point.x)) && y(story, sample, which, &point.y))
            series->point[series->count++] = point;
    }
    return mark_gaps(series);
}

bool series_any(const struct story *story, series_take_fn *take, int which, int at_least)
{
    int count = 0;
    double value;
    for (int i = 0; i < story->point_count && count < at_least; i++)
        count += take(story, &story->points[i].sample, which, &value);
    return count >= at_least;
}

void series_free(struct series *series)
{
    free(series->point);
    series->point = NULL;
    series->count = 0;
}

/* --- reshaping ---------------------------------------------------------------------------------
 */

int series_baseline(const struct series *series, const struct story *story)
{
    int index = 0;
    while (index + 1 < series->count &&
           series->point[index + 1].ms <= (double)story->view.baseline_ms)
        index++;
    return index;
}

void series_since_baseline(struct series *series, const struct story *story)
{
    if (series->count == 0)
        return;
    double baseline = series->point[series_baseline(series, story)].y;
    for (int i = 0; i < series->count; i++)
        series->point[i].y -= baseline;
}

bool series_per_second(struct series *series, double window_ms)
{
    struct series_point *point = series->point;
    struct series_point *rates = calloc((size_t)series->count + 1, sizeof *rates);
    if (rates == NULL)
        return false;
    int oldest = 0, kept = 0;
    bool gap = false;
    for (int i = 1; i < series->count; i++) {
        if (point[i].gap || point[i].y < point[i - 1].y) {
            oldest = i;
            gap = true;
        }
        while (oldest + 1 < i && point[i].ms - point[oldest + 1].ms >= window_ms)
            oldest++;
        double span_ms = point[i].ms - point[oldest].ms;
        if (span_ms < window_ms / 2 || span_ms <= 0)
            continue;
        rates[kept] = point[i];
        rates[kept].y = (point[i].y - point[oldest].y) * 1000 / span_ms;
        rates[kept].gap = gap;
        kept++;
        gap = false;
    }
    free(series->point);
    series->point = rates;
    series->count = kept;
    return true;
}

/* Keeps the lowest and the highest of each run of neighbours, so that no peak is lost. */
void series_thin(struct series *series)
{
    if (series->count <= SERIES_DRAWN_MAX)
        return;
    int runs = SERIES_DRAWN_MAX / 2 - 1;
    int last = series->count - 1;
    int kept = 1; /* the first point stays */
    for (int run = 0; run < runs; run++) {
        int from = 1 + (int)((int64_t)(last - 1) * run / runs);
        int to = 1 + (int)((int64_t)(last - 1) * (run + 1) / runs);
        int low = from, high = from;
        bool gap = false;
        for (int i = from; i < to; i++) {
            low = series->point[i].y < series->point[low].y ? i : low;
            high = series->point[i].y > series->point[high].y ? i : high;
            gap = gap || series->point[i].gap;
        }
        struct series_point earlier = series->point[low < high ? low : high];
        struct series_point later = series->point[low < high ? high : low];
        earlier.gap = gap;
        later.gap = false;
        series->point[kept++] = earlier;
        if (low != high)
            series->point[kept++] = later;
    }
    series->point[kept++] = series->point[last];
    series->count = kept;
}

double series_last(const struct series *series)
{
    return series->count > 0 ? series->point[series->count - 1].y : 0;
}
