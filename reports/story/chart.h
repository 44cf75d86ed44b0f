/* chart: a story as gnuplot scripts, one for each picture worth looking at.
 *
 * A script carries its data inline and names no file: the caller feeds the script to gnuplot's
 * standard input and reads the image from its standard output. Nothing here runs anything.
 *
 * A picture without data is not drawn at all (gnuplot gives up on empty series): ask
 * chart_drawable first. Values that are missing are gaps, not zeros. Names of categories and of the
 * JVM are quoted. One thread. */
#pragma once

#include "reports/story/story.h"

#include <stdio.h>

enum chart_kind {
    CHART_CLASSES,      /* live classes; loads and unloads per second */
    CHART_METHODS,      /* of all classes */
    CHART_GROWTH,       /* by NMT category, since the baseline */
    CHART_CLASS_MEMORY, /* Class + Metaspace against live classes */
    CHART_INTERNAL,     /* growth of Internal against its thresholds */
    CHART_MEMORY,       /* committed by NMT category, without the Java heap */
    CHART_HEAP,         /* bytes of the classes whose objects grew most, from histograms */
    CHART_PROCESS,      /* RSS, NMT's total, the Java heap */
    CHART_KIND_COUNT,
};

enum chart_format { CHART_PNG, CHART_SVG };

const char *chart_name(enum chart_kind kind);    /* "classes": the stem of a file name */
const char *chart_title(enum chart_kind kind);   /* a few words */
const char *chart_caption(enum chart_kind kind); /* how to read it, one sentence */
unsigned chart_subjects(enum chart_kind kind);   /* what it shows: enum page_subject */

bool chart_drawable(const struct story *story, enum chart_kind kind);
/* False when memory ran out or out could not be written; what was written is then of no use. */
bool chart_script(const struct story *story, enum chart_kind kind, enum chart_format format,
                  FILE *out);

/*
 * chart_canvas: what charts draw on: series of one story, the time axis, the marks of alerts and
 * baseline, and the gnuplot words for all of it. chart.c decides which series is on which chart.
 *
 *   canvas_init -> canvas_head, canvas_title -> canvas_add ... -> canvas_axes, canvas_marks,
 *   canvas_blocks, canvas_plot -> canvas_clear (and again, for a second plot in the picture)
 *
 * Everything goes to `out`; foreign text is quoted here. Ownership: the canvas owns its series. */
/* --- series --------------------------------------------------------------------------------- */

/* Values of a story as points to draw. A sample that does not have the value gives no point. Where
 * points are missing for much longer than is usual in the series, the line has a gap. Ownership:
 * the caller frees. */
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
/* At least this many samples have the value. */
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

/* --- canvas --------------------------------------------------------------------------------- */

#define CANVAS_LINES_MAX 8 /* more lines than this cannot be distinguished */

#define CANVAS_AXIS_COLOUR      "#555555"
#define CANVAS_THRESHOLD_COLOUR "#B07000"

struct canvas {
    const struct story *story;
    FILE *out;
    int count;
    struct series series[CANVAS_LINES_MAX];
    const char *x_title;
    double x_unit; /* ms (or what x is) in one unit of the x axis */
    double x_low, x_high;
    int block; /* number of the next data block */
};

/* A unit for an axis: its text goes behind the axis' title. */
struct canvas_scale {
    const char *text; /* ", MB" */
    double unit;
};
struct canvas_scale canvas_bytes(double low, double high);
struct canvas_scale canvas_counts(double high);

/* Colour of a stroke, quoted as gnuplot wants it. */
const char *canvas_colour(int stroke);

/* The x axis is the story's time, in seconds, minutes or hours. */
void canvas_init(struct canvas *canvas, const struct story *story, FILE *out);
/* Terminal and looks; the plot ends at legend_at of the width, the legend begins. */
void canvas_head(const struct canvas *canvas, const char *name, enum chart_format format,
                 int height_percent, double legend_at);
void canvas_title(const struct canvas *canvas, const char *title);
void canvas_text(FILE *out, const char *text); /* between single quotes */

/* A series that holds nothing is not added; false only without memory. */
bool canvas_add(struct canvas *canvas, series_take_fn *take, int which, const char *title,
                int stroke);
/* A class of a histogram; its name without its package. */
bool canvas_add_heap(struct canvas *canvas, const struct story_heap_class *class, int stroke);
void canvas_range(const struct canvas *canvas, double *low, double *high); /* 0 is inside */
void canvas_axes(const struct canvas *canvas, double low, double high,
                 const struct canvas_scale *scale, const char *y_title);
/* Dashed lines where alerts were raised, numbered as in the report, and the baseline. */
void canvas_marks(const struct canvas *canvas, bool numbered);
void canvas_blocks(struct canvas *canvas, double y_unit);
/* The plot command for the blocks just written, without a newline: lines may be added. */
void canvas_plot(struct canvas *canvas);
void canvas_clear(struct canvas *canvas);
