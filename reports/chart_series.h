/*
 * chart_series: one line of a picture: a value of the story's samples over time, or over another
 * value, made ready to draw.
 *
 *   series_collect -> (series_since_baseline | series_per_second) -> series_thin -> series_free
 *
 * A sample without the value gives no point. Where points are missing for much longer than is usual
 * in the series, the line has a gap. Ownership: the caller frees. One thread.
 */
#ifndef REPORTS_CHART_SERIES_H
#define REPORTS_CHART_SERIES_H

#include "reports/story.h"

#define SERIES_DRAWN_MAX 800 /* about one point for each pixel column of a plot */

struct series_point {
    double ms;
    double x; /* ms again, unless another value was collected */
    double y;
    bool gap; /* no line from the point before */
};

struct series {
    char title[160];
    int stroke; /* which colour and dash */
    int count;
    struct series_point *point;
};

/* Takes a value of one sample; false when it is missing. which: the field or category. */
typedef bool series_take_fn(const struct story *story, const struct sample *sample, int which,
                            double *value);
series_take_fn series_field;        /* which: enum sample_field */
series_take_fn series_category;     /* which: enum nmt_category; committed bytes */
series_take_fn series_live_classes; /* loaded - unloaded */
series_take_fn series_internal;     /* what Internal means on this JDK */
series_take_fn series_class_memory; /* Class + Metaspace; without NMT the committed Metaspace */

/* x NULL: time. False without memory. */
bool series_collect(struct series *series, const struct story *story, series_take_fn *x,
                    series_take_fn *y, int which);
/* At least so many samples have the value. */
bool series_any(const struct story *story, series_take_fn *take, int which, int at_least);
/* Index of the last point up to the story's baseline; the first point when there is none. */
int series_baseline(const struct series *series, const struct story *story);
void series_since_baseline(struct series *series, const struct story *story);
/* A counter's increase per second over windows of window_ms. A counter that falls belongs to
 * another JVM: the line starts anew. False without memory. */
bool series_per_second(struct series *series, double window_ms);
/* At most SERIES_DRAWN_MAX points; peaks stay. */
void series_thin(struct series *series);
double series_last(const struct series *series); /* 0 when empty */
void series_free(struct series *series);

#endif
