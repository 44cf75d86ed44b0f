#include "reports/story/chart.h"

#include "analyzers/native/internal.h"
#include "reports/text/escape.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define GAP_FACTOR 5 /* this many usual distances without a value are a gap */

/* --- values of a sample --------------------------------------------------------------------- */

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

/* --- collecting ----------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Marks what is too far from its predecessor, measured by the usual distance in this series (the watch
 * reads NMT less often than the counters); also where a recording jumps back in time. */
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

/* --- reshaping ------------------------------------------------------------------------------ */

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
    int runs = SERIES_DRAWN_MAX / 2 - 1, last = series->count - 1;
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

#define LABEL_DISTANCE 0.025 /* alert numbers closer than this share of the width are one */
#define EDGE           0.022 /* a baseline this near to the left edge has no room for its label */

#define GRID_COLOUR     "#DDDDDD"
#define ALERT_COLOUR    "#B00020"
#define BASELINE_COLOUR "#AAAAAA"

/* Okabe and Ito's palette, which colour-blind people can distinguish, without its yellow; every
 * second round of hues is dashed, so that colour is not the only difference. */
static const struct {
    const char *colour, *dash;
} STROKES[CANVAS_LINES_MAX] = {
    {"#0072B2", "solid"}, {"#D55E00", "solid"}, {"#009E73", "solid"}, {"#CC79A7", "solid"},
    {"#56B4E9", "solid"}, {"#E69F00", "solid"}, {"#777777", "'-'"},   {"#7B5EA7", "'-'"},
};

const char *canvas_colour(int stroke)
{
    return STROKES[stroke].colour;
}

/* --- series and ranges ---------------------------------------------------------------------- */

void canvas_clear(struct canvas *canvas)
{
    for (int i = 0; i < canvas->count; i++)
        series_free(&canvas->series[i]);
    canvas->count = 0;
}

/* A series that holds nothing is not added; false only without memory. */
bool canvas_add(struct canvas *canvas, series_take_fn *take, int which, const char *title,
                int stroke)
{
    struct series series = {.stroke = stroke};
    bool collected = series_collect(&series, canvas->story, NULL, take, which);
    if (series.count == 0 || canvas->count == CANVAS_LINES_MAX || !collected) {
        series_free(&series);
        return collected;
    }
    snprintf(series.title, sizeof series.title, "%s", title);
    canvas->series[canvas->count++] = series;
    return true;
}

/* "Order" of com.acme.Order, "Object[]" of [Ljava.lang.Object; */
static void name_without_package(const char *name, char *out, size_t size)
{
    const char *dot = strrchr(name, '.');
    const char *begin = dot != NULL ? dot + 1 : name;
    size_t length = strlen(begin), depth = strspn(name, "[");
    bool array = depth > 0 && name[depth] == 'L' && begin[length - 1] == ';';
    if (array && dot == NULL)
        begin += depth + 1;
    snprintf(out, size, "%.*s%.*s", array ? (int)strcspn(begin, ";") : 60, begin,
             array && depth <= 3 ? 2 * (int)depth : 0, "[][][]");
}

bool canvas_add_heap(struct canvas *canvas, const struct story_heap_class *class, int stroke)
{
    struct series *series = &canvas->series[canvas->count];
    if (canvas->count == CANVAS_LINES_MAX || class->point_count == 0)
        return true;
    *series = (struct series){.stroke = stroke};
    series->point = calloc((size_t) class->point_count, sizeof *series->point);
    if (series->point == NULL)
        return false;
    for (int i = 0; i < class->point_count; i++) {
        double ms = (double)class->points[i].ms;
        series->point[i] = (struct series_point){ms, ms, (double)class->points[i].bytes, false};
    }
    series->count = class->point_count;
    canvas->count++;
    name_without_package(class->last.name, series->title, sizeof series->title);
    return true;
}

void canvas_range(const struct canvas *canvas, double *low, double *high)
{
    *low = 0;
    *high = 0;
    for (int s = 0; s < canvas->count; s++)
        for (int i = 0; i < canvas->series[s].count; i++) {
            *low = fmin(*low, canvas->series[s].point[i].y);
            *high = fmax(*high, canvas->series[s].point[i].y);
        }
}

struct canvas_scale canvas_bytes(double low, double high)
{
    static const struct canvas_scale scales[] = {
        {", GB", 1073741824.0}, {", MB", 1048576.0}, {", KB", 1024.0}, {", bytes", 1.0}};
    double most = fmax(fabs(low), fabs(high));
    for (size_t i = 0; i < 3; i++)
        if (most >= 2 * scales[i].unit)
            return scales[i];
    return scales[3];
}

struct canvas_scale canvas_counts(double high)
{
    static const struct canvas_scale scales[] = {
        {", millions", 1e6}, {", thousands", 1e3}, {"", 1}};
    return high >= 20e6 ? scales[0] : high >= 20e3 ? scales[1] : scales[2];
}

void canvas_init(struct canvas *canvas, const struct story *story, FILE *out)
{
    *canvas = (struct canvas){.story = story, .out = out};
    double low = (double)story->points[0].ms, high = low;
    for (int i = 0; i < story->point_count; i++) {
        low = fmin(low, (double)story->points[i].ms);
        high = fmax(high, (double)story->points[i].ms);
    }
    double span_ms = high - low;
    if (span_ms < 180e3) {
        canvas->x_unit = 1e3;
        canvas->x_title = "seconds since the watch began";
    } else if (span_ms < 3 * 3600e3) {
        canvas->x_unit = 60e3;
        canvas->x_title = "minutes since the watch began";
    } else {
        canvas->x_unit = 3600e3;
        canvas->x_title = "hours since the watch began";
    }
    canvas->x_low = low / canvas->x_unit;
    canvas->x_high = fmax(high, low + 1000) / canvas->x_unit;
}

/* --- gnuplot -------------------------------------------------------------------------------- */

/* Text between single quotes. */
void canvas_text(FILE *out, const char *text)
{
    char quoted[512];
    escape(ESCAPE_GNUPLOT, text, quoted, sizeof quoted);
    fprintf(out, "'%s'", quoted);
}

void canvas_head(const struct canvas *canvas, const char *name, enum chart_format format,
                 int height_percent, double legend_at)
{
    FILE *out = canvas->out;
    if (format == CHART_PNG)
        fprintf(out, "set terminal pngcairo noenhanced size 1400,%d font 'Sans,14' linewidth 1.4\n",
                600 * height_percent / 100);
    else
        fprintf(out,
                "set terminal svg noenhanced size 960,%d dynamic background '#FFFFFF' font "
                "'sans-serif,13' name '%s'\n",
                412 * height_percent / 100, name);
    fprintf(out, "set rmargin at screen %.3f\n", legend_at);
    fputs(
        "set lmargin at screen 0.1\n" /* for less gnuplot leaves out the title of an axis to 40609.1 */
        "set encoding utf8\n"
        "set format '%g'\n"
        "set border 3 lc rgb '" CANVAS_AXIS_COLOUR "'\n"
        "set grid ytics lc rgb '" GRID_COLOUR "' lt 1 lw 0.6\n"
        "set tics nomirror out scale 0.6\n"
        "set key at graph 1.02, graph 1.0 left top Left reverse noenhanced\n"
        "set key samplen 1.6 spacing 1.25\n",
        out);
}

void canvas_title(const struct canvas *canvas, const char *title)
{
    const struct target_identity *identity = &canvas->story->identity;
    char who[96], text[256];
    span_copy(span_from_cstr(identity->main), who, sizeof who);
    snprintf(text, sizeof text, "%s: %s (pid %" PRId64 ")", title, who[0] == '\0' ? "JVM" : who,
             identity->pid);
    fputs("set title ", canvas->out);
    canvas_text(canvas->out, text);
    fputs(" offset 0, 0.9\n", canvas->out);
}

static void put_line(FILE *out, double x, const char *look, const char *colour)
{
    fprintf(out, "set arrow from %.10g, graph 0 to %.10g, graph 1 nohead back %s lc rgb '%s'\n", x,
            x, look, colour);
}

/* Neighbours that would cover each other's number share one. */
static void put_alerts(const struct canvas *canvas, bool numbered)
{
    const struct story *story = canvas->story;
    double label_x = -HUGE_VAL, width = canvas->x_high - canvas->x_low;
    int number = 0, first = 0, tag = 1;
    for (int i = 0; i < story->alert_count; i++) {
        if (story->alerts[i].state != ALERT_RAISED)
            continue;
        number++;
        double x = (double)story->alerts[i].ms / canvas->x_unit;
        if (x < canvas->x_low || x > canvas->x_high)
            continue;
        put_line(canvas->out, x, "dt 2 lw 0.9", ALERT_COLOUR);
        if (!numbered)
            continue;
        if (x < label_x || x - label_x > LABEL_DISTANCE * width) {
            label_x = x;
            first = number;
            tag++;
        }
        char label[32];
        if (first == number)
            snprintf(label, sizeof label, "%d", number);
        else
            snprintf(label, sizeof label, "%d-%d", first, number);
        fprintf(canvas->out,
                "set label %d '%s' at %.10g, graph 1.0 offset 0, 0.6 center tc rgb '%s'\n", tag,
                label, label_x, ALERT_COLOUR);
    }
}

void canvas_marks(const struct canvas *canvas, bool numbered)
{
    put_alerts(canvas, numbered);
    int64_t baseline_ms = canvas->story->view.baseline_ms;
    double x = (double)baseline_ms / canvas->x_unit;
    if (baseline_ms < 0 || x < canvas->x_low || x > canvas->x_high)
        return;
    put_line(canvas->out, x, "lw 0.8", BASELINE_COLOUR);
    if (numbered && x - canvas->x_low > EDGE * (canvas->x_high - canvas->x_low))
        fprintf(
            canvas->out,
            "set label 'baseline' at %.10g, graph 0.97 right rotate by 90 offset -0.7, 0 tc rgb "
            "'#888888'\n",
            x);
}

void canvas_axes(const struct canvas *canvas, double low, double high,
                 const struct canvas_scale *scale, const char *y_title)
{
    double unit = scale->unit;
    if (high - low < unit)
        high = low + unit; /* a flat line gets an axis all the same */
    double room = (high - low) * 0.06;
    fprintf(canvas->out, "set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n", canvas->x_low,
            canvas->x_high, (low < 0 ? low - room : low) / unit, (high + room) / unit);
    fputs("set ylabel ", canvas->out);
    char title[128];
    snprintf(title, sizeof title, "%s%s", y_title, scale->text);
    canvas_text(canvas->out, title);
    fputs("\n", canvas->out);
    if (low < 0)
        fprintf(canvas->out, "set xzeroaxis lt 1 lw 0.8 lc rgb '%s'\n", CANVAS_AXIS_COLOUR);
}

void canvas_blocks(struct canvas *canvas, double y_unit)
{
    for (int s = 0; s < canvas->count; s++) {
        series_thin(&canvas->series[s]);
        fprintf(canvas->out, "$d%d << EOD\n", canvas->block + s);
        for (int i = 0; i < canvas->series[s].count; i++) {
            const struct series_point *point = &canvas->series[s].point[i];
            fprintf(canvas->out, "%s%.10g %.10g\n", point->gap ? "\n" : "",
                    point->x / canvas->x_unit, point->y / y_unit);
        }
        fputs("EOD\n", canvas->out);
    }
}

void canvas_plot(struct canvas *canvas)
{
    for (int s = 0; s < canvas->count; s++) {
        const struct series *series = &canvas->series[s];
        fprintf(canvas->out, "%s$d%d using 1:2 with lines lw 2 dt %s lc rgb '%s' title ",
                s == 0 ? "plot " : ", \\\n     ", canvas->block + s, STROKES[series->stroke].dash,
                STROKES[series->stroke].colour);
        canvas_text(canvas->out, series->title);
    }
    canvas->block += canvas->count;
}
