#include "reports/soak/difference.h"

#include "reports/text/units.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_MAX 12 /* of families and loaders each, for people */
/* --- series ----------------------------------------------------------------------------------- */

static double quantum_of(enum soak_unit unit)
{
    return unit == SOAK_UNIT_BYTES ? 1024 : 1;
}

/* The last value up to the moment; false when there is none. */
static bool value_at(const struct points *points, int64_t ms, double *value)
{
    bool found = false;
    for (int i = 0; i < points->count && points->at[i].ms <= ms; i++) {
        *value = points->at[i].value;
        found = true;
    }
    return found;
}

static bool take_side(const struct difference_side *side, enum soak_series series,
                      struct estimate *estimate, double *value)
{
    const struct points *points = trial_points(side->trial, series);
    int64_t from_ms = side->at_ms > side->window_ms ? side->at_ms - side->window_ms : 0;
    int64_t to_ms =
        from_ms + side->window_ms > side->at_ms ? from_ms + side->window_ms : side->at_ms;
    if (points == NULL || !value_at(points, to_ms, value))
        return false;
    *estimate = estimate_level(points, from_ms, to_ms, quantum_of(soak_series_unit(series)));
    if (estimate->known)
        *value = estimate->value;
    return true;
}

static double change_of(const struct difference_series *series)
{
    return series->have_a && series->have_b ? series->value_b - series->value_a : 0;
}

static void judge_series(struct difference_series *series)
{
    double least = series->unit == SOAK_UNIT_BYTES ? DIFFERENCE_BYTES_MIN : DIFFERENCE_COUNT_MIN;
    series->change = estimate_difference(series->a, series->b);
    if (!series->change.known)
        return;
    bool beyond_noise = series->change.low > 0 || series->change.high < 0;
    series->significance = beyond_noise && fabs(series->change.value) >= least ? SIGNIFICANCE_REAL
                                                                               : SIGNIFICANCE_NOISE;
}

static int by_change(const void *a, const void *b)
{
    const struct difference_series *left = a, *right = b;
    if (left->unit != right->unit)
        return left->unit == SOAK_UNIT_BYTES ? -1 : 1;
    double left_size = fabs(change_of(left)), right_size = fabs(change_of(right));
    if (left_size < right_size || left_size > right_size)
        return left_size < right_size ? 1 : -1;
    return strcmp(left->key, right->key);
}

static void compare_series(struct difference *difference, int jdk_major)
{
    for (int i = 0; i < SOAK_SERIES_COUNT; i++) {
        enum soak_series which = (enum soak_series)i;
        struct difference_series *series = &difference->series[difference->series_count];
        memset(series, 0, sizeof *series);
        series->have_a = take_side(&difference->a, which, &series->a, &series->value_a);
        series->have_b = take_side(&difference->b, which, &series->b, &series->value_b);
        if (!series->have_a && !series->have_b)
            continue;
        soak_series_key(which, series->key);
        series->title = soak_series_title(which, jdk_major);
        series->unit = soak_series_unit(which);
        judge_series(series);
        difference->series_count++;
    }
    if (difference->series_count > 1)
        qsort(difference->series, (size_t)difference->series_count, sizeof difference->series[0],
              by_change);
}

/* --- families --------------------------------------------------------------------------------- */

static const struct story_family *find_family(const struct story *story, const char *family)
{
    for (int i = 0; i < story->family_count; i++)
        if (strcmp(story->families[i].row.family, family) == 0)
            return &story->families[i];
    return NULL;
}

static int64_t classes_of(const struct story *story, const struct story_family *family)
{
    if (family == NULL) /* searched and not found, or not measured */
        return story->family_count > 0 ? 0 : -1;
    return family->row.loads > family->alive ? family->row.loads : family->alive;
}

static double rate_of(const struct story_family *family)
{
    double per_s;
    return family != NULL && story_family_rate(family, &per_s) ? per_s : -1;
}

/* Rates of Poisson counts; within one recording the counts go up together and are simply counted */
static enum significance judge_family(const struct difference *difference,
                                      const struct difference_family *row,
                                      const struct story_family *a, const struct story_family *b)
{
    if (difference->same_recording)
        return row->classes_b - row->classes_a >= DIFFERENCE_COUNT_MIN ? SIGNIFICANCE_REAL
                                                                       : SIGNIFICANCE_NOISE;
    if (row->per_s_a < 0 || row->per_s_b < 0)
        return SIGNIFICANCE_UNKNOWN;
    double a_s = (double)a->observed_ms / 1000, b_s = (double)b->observed_ms / 1000;
    double deviation =
        sqrt((double)a->row.loads / (a_s * a_s) + (double)b->row.loads / (b_s * b_s));
    return fabs(row->per_s_b - row->per_s_a) > 2 * deviation ? SIGNIFICANCE_REAL
                                                             : SIGNIFICANCE_NOISE;
}

static void add_family(struct difference *difference, const struct story_family *family)
{
    for (int i = 0; i < difference->family_count; i++)
        if (strcmp(difference->families[i].family, family->row.family) == 0)
            return;
    const struct story_family *a = find_family(difference->a.story, family->row.family);
    const struct story_family *b = find_family(difference->b.story, family->row.family);
    struct difference_family *row = &difference->families[difference->family_count++];
    *row = (struct difference_family){.family = family->row.family,
                                      .stem = family->row.stem,
                                      .classes_a = classes_of(difference->a.story, a),
                                      .classes_b = classes_of(difference->b.story, b),
                                      .per_s_a = rate_of(a),
                                      .per_s_b = rate_of(b)};
    row->significance = judge_family(difference, row, a, b);
}

static int by_classes(const void *a, const void *b)
{
    const struct difference_family *left = a, *right = b;
    int64_t left_size = llabs(left->classes_b - left->classes_a);
    int64_t right_size = llabs(right->classes_b - right->classes_a);
    if (left_size != right_size)
        return left_size < right_size ? 1 : -1;
    return strcmp(left->family, right->family);
}

static void compare_families(struct difference *difference)
{
    const struct story *stories[] = {difference->a.story, difference->b.story};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < stories[side]->family_count; i++)
            add_family(difference, &stories[side]->families[i]);
    if (difference->family_count > 1)
        qsort(difference->families, (size_t)difference->family_count,
              sizeof difference->families[0], by_classes);
}

/* --- loaders ---------------------------------------------------------------------------------- */

static int64_t loaders_of(const struct story *story, const char *type)
{
    for (int i = 0; i < story->loader_count; i++)
        if (strcmp(story->loaders[i].type, type) == 0)
            return story->loaders[i].loaders;
    return -1;
}

static void add_loader(struct difference *difference, const char *type)
{
    for (int i = 0; i < difference->loader_count; i++)
        if (strcmp(difference->loaders[i].type, type) == 0)
            return;
    difference->loaders[difference->loader_count++] = (struct difference_loader){
        type, loaders_of(difference->a.story, type), loaders_of(difference->b.story, type)};
}

static int by_loaders(const void *a, const void *b)
{
    const struct difference_loader *left = a, *right = b;
    int64_t left_size = llabs(left->loaders_b - left->loaders_a);
    int64_t right_size = llabs(right->loaders_b - right->loaders_a);
    if (left_size != right_size)
        return left_size < right_size ? 1 : -1;
    return strcmp(left->type, right->type);
}

static void compare_loaders(struct difference *difference)
{
    const struct story *stories[] = {difference->a.story, difference->b.story};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < stories[side]->loader_count; i++)
            add_loader(difference, stories[side]->loaders[i].type);
    if (difference->loader_count > 1)
        qsort(difference->loaders, (size_t)difference->loader_count, sizeof difference->loaders[0],
              by_loaders);
}

/* --- the whole -------------------------------------------------------------------------------- */

struct difference *difference_make(const struct difference_side *a, const struct difference_side *b)
{
    struct difference *difference = calloc(1, sizeof *difference);
    if (difference == NULL)
        return NULL;
    difference->a = *a;
    difference->b = *b;
    difference->same_recording =
        a->story->wall_start_ms == b->story->wall_start_ms &&
        a->story->identity.pid == b->story->identity.pid &&
        a->story->identity.start_time_ticks == b->story->identity.start_time_ticks;
    compare_series(difference, b->story->identity.jdk_major);
    compare_families(difference);
    compare_loaders(difference);
    return difference;
}

void difference_destroy(struct difference *difference)
{
    free(difference);
}

/* --- the page --------------------------------------------------------------------------------- */

static const char *mark(enum significance significance)
{
    return significance == SIGNIFICANCE_REAL    ? "yes"
           : significance == SIGNIFICANCE_NOISE ? "noise"
                                                : "?";
}

static void put_side(struct page *page, const char *name, const struct difference_side *side)
{
    const struct target_identity *who = &side->story->identity;
    char text[1024];
    snprintf(text, sizeof text, "%s at %s: pid %lld, %s, JDK %s", side->file,
             units_duration(side->at_ms).text, (long long)who->pid,
             who->main[0] != '\0' ? who->main : "?", who->jdk[0] != '\0' ? who->jdk : "?");
    page_fact(page, name, text);
}

static bool is_silent(const struct difference_series *series)
{
    double least = series->unit == SOAK_UNIT_BYTES ? 1024 : 1;
    return series->have_a && series->have_b && series->significance != SIGNIFICANCE_REAL &&
           fabs(series->value_b - series->value_a) < least;
}

static void put_series(struct page *page, const struct difference_series *series)
{
    bool both = series->have_a && series->have_b;
    page_row(page, series->title,
             series->have_a ? soak_amount_text(series->unit, series->value_a).text : "-",
             series->have_b ? soak_amount_text(series->unit, series->value_b).text : "-",
             both ? soak_growth_text(series->unit, series->value_b - series->value_a).text : "-",
             series->change.known ? soak_interval_text(series->unit, series->change).text : "-",
             mark(series->significance));
}

static struct units_text count_text(int64_t count)
{
    struct units_text none = {"-"};
    return count < 0 ? none : units_count(count);
}

static struct units_text rate_text(double per_s)
{
    struct units_text none = {"-"};
    return per_s < 0 ? none : units_rate(per_s);
}

static void put_families(struct page *page, const struct difference *difference, bool all)
{
    if (difference->family_count == 0)
        return;
    page_heading(page, "Families of classes");
    page_table(page, "family of classes", "#A", "#B", "#A rate", "#B rate", "differs");
    for (int i = 0; i < difference->family_count && (all || i < ROWS_MAX); i++) {
        const struct difference_family *row = &difference->families[i];
        page_row(page, row->family, count_text(row->classes_a).text,
                 count_text(row->classes_b).text, rate_text(row->per_s_a).text,
                 rate_text(row->per_s_b).text, mark(row->significance));
    }
}

static void put_loaders(struct page *page, const struct difference *difference, bool all)
{
    int shown = 0;
    for (int i = 0; i < difference->loader_count && (all || shown < ROWS_MAX); i++) {
        const struct difference_loader *row = &difference->loaders[i];
        if (row->loaders_a == row->loaders_b && !all)
            continue;
        if (shown++ == 0) {
            page_heading(page, "Class loaders");
            page_table(page, "class loaders of type", "#A", "#B");
        }
        page_row(page, row->type, count_text(row->loaders_a).text, count_text(row->loaders_b).text);
    }
}

void difference_page(const struct difference *difference, bool all, struct page *page)
{
    int silent = 0, real = 0;
    char title[128];
    for (int i = 0; i < difference->series_count; i++)
        real += difference->series[i].significance == SIGNIFICANCE_REAL;
    snprintf(title, sizeof title, "%d of %d series differ by more than noise", real,
             difference->series_count);
    page_begin(page, title, "DIFFERENCE", SEVERITY_INFO);
    page_set_tone(page, PAGE_UNKNOWN);
    page_facts(page);
    put_side(page, "A", &difference->a);
    put_side(page, "B", &difference->b);
    page_heading(page, "Series");
    page_table(page, "series", "#A", "#B", "#B - A", "95 % interval", "differs");
    for (int i = 0; i < difference->series_count; i++) {
        bool hidden = !all && is_silent(&difference->series[i]);
        silent += hidden;
        if (!hidden)
            put_series(page, &difference->series[i]);
    }
    if (silent > 0)
        page_text(page, "%d more did not change", silent);
    put_families(page, difference, all);
    put_loaders(page, difference, all);
    page_footer(page, "yes: more than the noise within the %s before each moment%s",
                units_duration(difference->a.window_ms).text,
                difference->same_recording
                    ? "."
                    : ". Two runs of the same program differ by more than that: compare several.");
}

/* --- programs --------------------------------------------------------------------------------- */

static void json_side(struct json_out *out, const char *key, const struct difference_side *side)
{
    const struct target_identity *who = &side->story->identity;
    json_out_begin(out, key, '{');
    json_out_text(out, "file", side->file);
    json_out_int(out, "at_ms", side->at_ms);
    json_out_int(out, "window_ms", side->window_ms);
    json_out_int(out, "pid", who->pid);
    json_out_text(out, "main", who->main);
    json_out_text(out, "jdk", who->jdk);
    json_out_end(out, '}');
}

static void json_significance(struct json_out *out, enum significance significance)
{
    if (significance == SIGNIFICANCE_UNKNOWN)
        json_out_null(out, "significant");
    else
        json_out_bool(out, "significant", significance == SIGNIFICANCE_REAL);
}

static void json_series(struct json_out *out, const struct difference_series *series)
{
    bool both = series->have_a && series->have_b;
    json_out_begin(out, NULL, '{');
    json_out_text(out, "key", series->key);
    json_out_text(out, "title", series->title);
    json_out_text(out, "unit", series->unit == SOAK_UNIT_BYTES ? "bytes" : "count");
    json_out_real_if(out, "a", series->have_a, series->value_a);
    json_out_real_if(out, "b", series->have_b, series->value_b);
    json_out_real_if(out, "change", both, series->value_b - series->value_a);
    json_out_real_if(out, "low", series->change.known, series->change.low);
    json_out_real_if(out, "high", series->change.known, series->change.high);
    json_significance(out, series->significance);
    json_out_end(out, '}');
}

const char *difference_json(struct json_out *out, const struct difference *difference)
{
    json_out_open(out);
    json_side(out, "a", &difference->a);
    json_side(out, "b", &difference->b);
    json_out_begin(out, "series", '[');
    for (int i = 0; i < difference->series_count; i++)
        json_series(out, &difference->series[i]);
    json_out_end(out, ']');
    json_out_begin(out, "families", '[');
    for (int i = 0; i < difference->family_count; i++) {
        const struct difference_family *row = &difference->families[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "family", row->family);
        json_out_text(out, "stem", row->stem);
        json_out_int_if(out, "a", row->classes_a >= 0, row->classes_a);
        json_out_int_if(out, "b", row->classes_b >= 0, row->classes_b);
        json_out_real_if(out, "a_per_s", row->per_s_a >= 0, row->per_s_a);
        json_out_real_if(out, "b_per_s", row->per_s_b >= 0, row->per_s_b);
        json_significance(out, row->significance);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_begin(out, "loaders", '[');
    for (int i = 0; i < difference->loader_count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_text(out, "type", difference->loaders[i].type);
        json_out_int_if(out, "a", difference->loaders[i].loaders_a >= 0,
                        difference->loaders[i].loaders_a);
        json_out_int_if(out, "b", difference->loaders[i].loaders_b >= 0,
                        difference->loaders[i].loaders_b);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    return json_out_close(out);
}
