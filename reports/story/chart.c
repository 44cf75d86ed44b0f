#include "reports/story/chart.h"

#include "analyzers/native/internal.h"
#include "reports/text/units.h"

#include <math.h>
#include <stdlib.h>

#define IN_RANGE          1.6     /* a threshold up to this many times the data is drawn */
#define SLOPE_CLASSES_MIN 50      /* fewer classes show no cost of one */
#define FLAT_BYTES        65536.0 /* a category that moved less is left out of the growth */

static const struct {
    const char *name, *title, *caption;
    unsigned subjects;
} CHARTS[CHART_KIND_COUNT] = {
    [CHART_CLASSES] = {"classes", "Classes",
                       "Live classes that keep rising while nothing unloads are a leak; loads and "
                       "unloads that match are churn.",
                       SUBJECT_CLASSES},
    [CHART_METHODS] = {"methods", "Methods",
                       "Of all loaded classes: the number stabilises after warm-up; 150 000 to "
                       "1 500 000 are typical.",
                       SUBJECT_METHODS},
    [CHART_GROWTH] =
        {"growth", "Growth of native memory by NMT category",
         "What has grown since the baseline (the first sample, when warm-up did not end).",
         SUBJECT_NMT},
    [CHART_CLASS_MEMORY] = {"class_memory", "Memory of classes",
                            "A straight line means that classes explain the memory; its slope is "
                            "what one class costs.",
                            SUBJECT_CLASSES},
    [CHART_INTERNAL] = {"internal", "Growth of NMT Internal",
                        "The documented thresholds are drawn once they come into reach.",
                        SUBJECT_INTERNAL},
    [CHART_MEMORY] = {"memory", "Committed native memory by NMT category",
                      "Without the Java heap, which would dwarf everything else.", SUBJECT_NMT},
    [CHART_HEAP] = {"heap", "Growth of objects by class",
                    "From histograms of the heap, garbage included: a line whose low points keep "
                    "rising is still referenced.",
                    SUBJECT_HEAP},
    [CHART_PROCESS] = {"process", "Memory of the process",
                       "What the kernel has given (RSS) beside what the JVM has committed.",
                       SUBJECT_RSS},
};

const char *chart_name(enum chart_kind kind)
{
    return CHARTS[kind].name;
}

const char *chart_title(enum chart_kind kind)
{
    return CHARTS[kind].title;
}

const char *chart_caption(enum chart_kind kind)
{
    return CHARTS[kind].caption;
}

unsigned chart_subjects(enum chart_kind kind)
{
    return CHARTS[kind].subjects;
}

static void subtract_baselines(struct canvas *canvas)
{
    for (int s = 0; s < canvas->count; s++)
        series_since_baseline(&canvas->series[s], canvas->story);
}

/* Bytes over time: what four of the charts are. */
static void put_bytes_chart(struct canvas *canvas, const char *y_title)
{
    double low, high;
    canvas_range(canvas, &low, &high);
    struct canvas_scale scale = canvas_bytes(low, high);
    canvas_axes(canvas, low, high, &scale, y_title);
    fprintf(canvas->out, "set xlabel '%s'\n", canvas->x_title);
    canvas_marks(canvas, true);
    canvas_blocks(canvas, scale.unit);
    canvas_plot(canvas);
}

static int by_last_value(const void *a, const void *b)
{
    double left = series_last(a), right = series_last(b);
    return (left < right) - (left > right);
}

/* The legend stands in the order of the lines' ends, each with its last value. */
static void add_last_values(struct canvas *canvas, bool growth)
{
    qsort(canvas->series, (size_t)canvas->count, sizeof canvas->series[0], by_last_value);
    for (int s = 0; s < canvas->count; s++) {
        struct series *series = &canvas->series[s];
        int64_t last = (int64_t)series_last(series);
        char title[sizeof series->title];
        snprintf(title, sizeof title, "%.60s  %s", series->title,
                 growth ? units_growth(last).text : units_bytes(last).text);
        memcpy(series->title, title, sizeof title);
    }
}

/* --- the charts ----------------------------------------------------------------------------- */

static bool add_categories(struct canvas *canvas)
{
    enum nmt_category categories[CANVAS_LINES_MAX];
    int count = story_top_categories(canvas->story, categories, CANVAS_LINES_MAX);
    for (int i = 0; i < count; i++)
        if (!canvas_add(canvas, series_category, categories[i], nmt_category_name(categories[i]),
                        i))
            return false;
    return true;
}

static bool draw_memory(struct canvas *canvas)
{
    if (!add_categories(canvas))
        return false;
    add_last_values(canvas, false);
    put_bytes_chart(canvas, "committed");
    return true;
}

static const char *since(const struct story *story)
{
    return story->view.baseline_ms >= 0 ? "growth since the baseline"
                                        : "growth since the first sample";
}

/* A series that ends at its lowest point has not grown; one line stays, so that a flat story has
 * its picture too. */
static void drop_flat(struct canvas *canvas)
{
    int kept = 0;
    for (int s = 0; s < canvas->count; s++) {
        struct series *series = &canvas->series[s];
        double lowest = series->point[0].y;
        for (int i = 1; i < series->count; i++)
            lowest = fmin(lowest, series->point[i].y);
        if (kept == 0 || series_last(series) - lowest >= FLAT_BYTES)
            canvas->series[kept++] = *series;
        else
            series_free(series);
    }
    canvas->count = kept;
}

static bool draw_growth(struct canvas *canvas)
{
    if (!add_categories(canvas))
        return false;
    subtract_baselines(canvas);
    drop_flat(canvas);
    add_last_values(canvas, true);
    put_bytes_chart(canvas, since(canvas->story));
    return true;
}

static bool draw_process(struct canvas *canvas)
{
    if (!canvas_add(canvas, series_field, SAMPLE_RSS_BYTES, "RSS", 0) ||
        !canvas_add(canvas, series_field, SAMPLE_NMT_COMMITTED_BYTES, "NMT committed", 1) ||
        !canvas_add(canvas, series_category, NMT_JAVA_HEAP, "Java heap", 2) ||
        !canvas_add(canvas, series_field, SAMPLE_METASPACE_COMMITTED_BYTES, "Metaspace", 3))
        return false;
    add_last_values(canvas, false);
    put_bytes_chart(canvas, "memory");
    return true;
}

static bool draw_heap(struct canvas *canvas)
{
    const struct story *story = canvas->story;
    int growing = story_heap_growing(story);
    for (int i = 0; i < growing && i < CANVAS_LINES_MAX; i++)
        if (!canvas_add_heap(canvas, &story->heap.classes[i], i))
            return false;
    add_last_values(canvas, false);
    put_bytes_chart(canvas, "bytes of objects");
    return true;
}

static bool draw_internal(struct canvas *canvas)
{
    static const enum threshold steps[] = {
        TH_INTERNAL_INVESTIGATE_BYTES, TH_INTERNAL_EXPLOSION_BYTES, TH_INTERNAL_UNACCEPTABLE_BYTES};
    enum { STEPS = sizeof steps / sizeof steps[0] };
    const struct story *story = canvas->story;
    if (!canvas_add(canvas, series_internal, 0, internal_meaning(story->identity.jdk_major), 0))
        return false;
    subtract_baselines(canvas);
    double low, high;
    canvas_range(canvas, &low, &high);
    double reach = high * IN_RANGE;
    for (int i = 0; i < STEPS; i++) {
        double bytes = (double)story->thresholds.value[steps[i]];
        if (bytes <= reach)
            high = fmax(high, bytes);
    }
    struct canvas_scale scale = canvas_bytes(low, high);
    canvas_axes(canvas, low, high, &scale, since(story));
    fprintf(canvas->out, "set xlabel '%s'\n", canvas->x_title);
    canvas_marks(canvas, true);
    add_last_values(canvas, true);
    canvas_blocks(canvas, scale.unit);
    canvas_plot(canvas);
    for (int i = 0; i < STEPS; i++) {
        int64_t bytes = story->thresholds.value[steps[i]];
        if ((double)bytes <= reach)
            fprintf(canvas->out,
                    ", \\\n     %.10g with lines dt 4 lw 1.2 lc rgb '%s' title 'threshold  %s'",
                    (double)bytes / scale.unit, CANVAS_THRESHOLD_COLOUR, units_growth(bytes).text);
    }
    return true;
}

static bool put_live_classes(struct canvas *canvas)
{
    if (!canvas_add(canvas, series_live_classes, 0, "", 0))
        return false;
    snprintf(canvas->series[0].title, sizeof canvas->series[0].title, "live  %s",
             units_count((int64_t)series_last(&canvas->series[0])).text);
    double low, high;
    canvas_range(canvas, &low, &high);
    struct canvas_scale scale = canvas_counts(high);
    canvas_axes(canvas, low, high, &scale, "live classes");
    canvas_marks(canvas, true);
    canvas_blocks(canvas, scale.unit);
    canvas_plot(canvas);
    return true;
}

static bool put_class_rates(struct canvas *canvas)
{
    double window_ms = fmax(5000, (canvas->x_high - canvas->x_low) * canvas->x_unit / 200);
    if (!canvas_add(canvas, series_field, SAMPLE_CLASSES_LOADED, "loaded", 1) ||
        !canvas_add(canvas, series_field, SAMPLE_CLASSES_UNLOADED, "unloaded", 2))
        return false;
    int drawable = 0;
    for (int s = 0; s < canvas->count; s++) {
        struct series *series = &canvas->series[s];
        if (!series_per_second(series, window_ms))
            return false;
        drawable += series->count > 0;
        char title[sizeof series->title];
        snprintf(title, sizeof title, "%.20s  %s", series->title,
                 units_rate(series_last(series)).text);
        memcpy(series->title, title, sizeof title);
    }
    if (drawable < canvas->count)
        return true; /* too short for rates: the upper plot stands alone */
    double low, high;
    canvas_range(canvas, &low, &high);
    struct canvas_scale scale = canvas_counts(high);
    canvas_axes(canvas, low, high, &scale, "classes per second");
    fprintf(canvas->out, "set xlabel '%s'\n", canvas->x_title);
    canvas_marks(canvas, false);
    canvas_blocks(canvas, scale.unit);
    canvas_plot(canvas);
    return true;
}

static bool draw_classes(struct canvas *canvas)
{
    fputs("set multiplot\n"
          "set tmargin at screen 0.88\nset bmargin at screen 0.52\nset format x ''\n",
          canvas->out);
    if (!put_live_classes(canvas))
        return false;
    canvas_clear(canvas);
    fputs("\nunset title\nunset label\nunset arrow\n"
          "set tmargin at screen 0.45\nset bmargin at screen 0.12\nset format x '%g'\n",
          canvas->out);
    if (!put_class_rates(canvas))
        return false;
    fputs("\nunset multiplot", canvas->out);
    return true;
}

static bool draw_methods(struct canvas *canvas)
{
    int64_t limit = canvas->story->thresholds.value[TH_METHODS_COUNT];
    if (!canvas_add(canvas, series_field, SAMPLE_METHODS, "", 0))
        return false;
    double low, high;
    canvas_range(canvas, &low, &high);
    bool near = (double)limit <= high * IN_RANGE;
    struct canvas_scale scale = canvas_counts(near ? fmax(high, (double)limit) : high);
    snprintf(canvas->series[0].title, sizeof canvas->series[0].title, "methods  %s",
             units_count((int64_t)series_last(&canvas->series[0])).text);
    canvas_axes(canvas, low, near ? fmax(high, (double)limit) : high, &scale, "methods");
    fprintf(canvas->out, "set xlabel '%s'\n", canvas->x_title);
    canvas_marks(canvas, true);
    canvas_blocks(canvas, scale.unit);
    canvas_plot(canvas);
    if (near)
        fprintf(canvas->out,
                ", \\\n     %.10g with lines dt 4 lw 1.2 lc rgb '%s' title 'threshold  %s'",
                (double)limit / scale.unit, CANVAS_THRESHOLD_COLOUR, units_count(limit).text);
    return true;
}

/* Classes on the x axis instead of time, with the line from the baseline to the end. */
static bool draw_class_memory(struct canvas *canvas)
{
    const struct story *story = canvas->story;
    struct series *joined = &canvas->series[canvas->count++];
    if (!series_collect(joined, story, series_live_classes, series_class_memory, 0))
        return false;
    struct series_point from = joined->point[series_baseline(joined, story)];
    struct series_point to = joined->point[joined->count - 1];
    double low = from.y, high = from.y, x_low = from.x, x_high = from.x;
    for (int i = 0; i < joined->count; i++) {
        x_low = fmin(x_low, joined->point[i].x);
        x_high = fmax(x_high, joined->point[i].x);
        low = fmin(low, joined->point[i].y);
        high = fmax(high, joined->point[i].y);
    }
    struct canvas_scale x_scale = canvas_counts(x_high), scale = canvas_bytes(low, high);
    double room = fmax(x_high - x_low, 10) * 0.03;
    canvas->x_unit = x_scale.unit;
    canvas->x_low = (x_low - room) / x_scale.unit;
    canvas->x_high = (x_high + room) / x_scale.unit;
    low = fmax(0, low - fmax((high - low) * 0.06, scale.unit / 2));
    canvas_axes(canvas, low, high, &scale,
                story->view.have_class_metaspace ? "Class + Metaspace committed"
                                                 : "Metaspace committed");
    fprintf(canvas->out, "set xlabel 'live classes%s'\n", x_scale.text);
    canvas_blocks(canvas, scale.unit);
    fprintf(canvas->out, "plot $d0 using 1:2 with points pt 7 ps 0.45 lc rgb '%s' title 'samples'",
            canvas_colour(0));
    double classes = to.x - from.x, bytes = to.y - from.y;
    if (classes >= SLOPE_CLASSES_MIN && bytes > 0)
        fprintf(canvas->out,
                ", \\\n     '-' using 1:2 with lines dt 2 lw 1.4 lc rgb '%s' title '%s a class'\n"
                "%.10g %.10g\n%.10g %.10g\ne",
                canvas_colour(1), units_bytes((int64_t)(bytes / classes)).text,
                from.x / x_scale.unit, from.y / scale.unit, to.x / x_scale.unit, to.y / scale.unit);
    return true;
}

static bool take_both(const struct story *story, const struct sample *sample, int which, double *y)
{
    return series_live_classes(story, sample, which, y) &&
           series_class_memory(story, sample, which, y);
}

bool chart_drawable(const struct story *story, enum chart_kind kind)
{
    enum nmt_category category;
    switch (kind) {
    case CHART_MEMORY:
    case CHART_GROWTH:
        return story_top_categories(story, &category, 1) > 0 &&
               series_any(story, series_category, category, 2);
    case CHART_CLASSES:
        return series_any(story, series_live_classes, 0, 2);
    case CHART_METHODS:
        return series_any(story, series_field, SAMPLE_METHODS, 2);
    case CHART_INTERNAL:
        return series_any(story, series_internal, 0, 2);
    case CHART_CLASS_MEMORY:
        return series_any(story, take_both, 0, 2);
    case CHART_HEAP:
        return story->heap.histograms > 1 && story_heap_growing(story) > 0;
    case CHART_PROCESS:
        return series_any(story, series_field, SAMPLE_RSS_BYTES, 2);
    case CHART_KIND_COUNT:
        break;
    }
    return false;
}

bool chart_script(const struct story *story, enum chart_kind kind, enum chart_format format,
                  FILE *out)
{
    static bool (*const draw[CHART_KIND_COUNT])(struct canvas *) = {
        [CHART_CLASSES] = draw_classes,   [CHART_METHODS] = draw_methods,
        [CHART_GROWTH] = draw_growth,     [CHART_CLASS_MEMORY] = draw_class_memory,
        [CHART_INTERNAL] = draw_internal, [CHART_MEMORY] = draw_memory,
        [CHART_HEAP] = draw_heap,         [CHART_PROCESS] = draw_process,
    };
    if (!chart_drawable(story, kind))
        return false;
    bool long_names = kind == CHART_MEMORY || kind == CHART_GROWTH || kind == CHART_HEAP;
    bool two_plots = kind == CHART_CLASSES;
    struct canvas canvas;
    canvas_init(&canvas, story, out);
    canvas_head(&canvas, chart_name(kind), format, two_plots ? 125 : 100,
                kind == CHART_HEAP ? 0.58
                : long_names       ? 0.69
                                   : 0.76);
    canvas_title(&canvas, chart_title(kind));
    if (!two_plots)
        fputs("set tmargin at screen 0.85\nset bmargin at screen 0.15\n", out);
    bool drawn = draw[kind](&canvas);
    fputs("\n", out);
    canvas_clear(&canvas);
    return drawn && !ferror(out);
}
