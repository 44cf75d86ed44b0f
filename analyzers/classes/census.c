#include "analyzers/classes/census.h"

#include "analyzers/classes/family.h"
#include "analyzers/classes/stem_table.h"
#include "analyzers/parse/class_log.h"
#include "analyzers/parse/class_tables.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_MAX_STEMS 4096
#define LARGEST_MAX_STEMS (1 << 20)
#define OFTEN             SHAPE_MEMBERS /* loads that make a stem a repeating one */
#define INVOKES_MAX       16            /* targets followed at a time */

/* What is known of a row of families.def beside its stems in the table. */
struct tally {
    int64_t loads; /* these of stems that gave up their place */
    int64_t unloads;
    int64_t names;
    int64_t max_same_name;
    struct stem *first; /* the first of those, for its name */
    int64_t loader_classes;
    int64_t most_loaders;
    char *loader_type; /* the one with most loaders */
};

struct invokes {
    const struct family *family;
    int64_t count, error;
    char target[EVENT_NAME_MAX];
};

struct census {
    struct stem_table table;
    struct census_totals totals;
    struct tally tally[FAMILY_COUNT];
    struct invokes invokes[INVOKES_MAX];
};

/* --- life ------------------------------------------------------------------------------------- */

struct census *census_create(size_t max_stems)
{
    if (max_stems == 0)
        max_stems = DEFAULT_MAX_STEMS;
    max_stems = MIN(max_stems, LARGEST_MAX_STEMS);
    struct census *census = calloc(1, sizeof *census);
    if (census == NULL)
        return NULL;
    if (!stem_table_init(&census->table, max_stems, sizeof(struct stem))) {
        free(census);
        return NULL;
    }
    return census;
}

void census_reset(struct census *census)
{
    stem_table_clear(&census->table);
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        stem_destroy(census->tally[i].first);
        free(census->tally[i].loader_type);
    }
    memset(census->tally, 0, sizeof census->tally);
    memset(census->invokes, 0, sizeof census->invokes);
    census->totals = (struct census_totals){0};
}

void census_destroy(struct census *census)
{
    if (census == NULL)
        return;
    census_reset(census);
    stem_table_free(&census->table);
    free(census);
}

/* If a row of families.def knows the stem by name, it stays counted there; otherwise it was an
 * ordinary class, and the totals have it. */
static void evict(void *context, struct stem *stem)
{
    struct census *census = context;
    if (stem->family == NULL || stem->family->evidence != FAMILY_BY_NAME) {
        stem_destroy(stem);
        return;
    }
    struct tally *tally = &census->tally[family_index(stem->family)];
    int64_t same = shape_max_same_name(&stem->shape);
    tally->loads = saturated_add(tally->loads, stem->shape.loads);
    tally->unloads = saturated_add(tally->unloads, stem->unloads);
    tally->names = saturated_add(tally->names, shape_names(&stem->shape));
    tally->max_same_name = MAX(tally->max_same_name, same);
    if (tally->first == NULL)
        tally->first = stem;
    else
        stem_destroy(stem);
}

/* --- feeding ---------------------------------------------------------------------------------- */

void census_load(struct census *census, struct span name, struct span source)
{
    census->totals.loads = saturated_add(census->totals.loads, 1);
    if (class_source_is_archive(source)) {
        census->totals.archived++;
        return;
    }
    if (name.len == 0) {
        census->totals.folded++;
        return;
    }
    struct arrival arrival;
    struct stem *stem = stem_table_find(&census->table, name, &arrival);
    if (stem == NULL) {
        stem_table_make_room(&census->table, census->totals.loads, evict, census);
        stem = stem_table_insert(&census->table, &arrival, source);
    }
    if (stem == NULL) {
        census->totals.folded++;
        return;
    }
    stem_add(stem, &arrival, source);
}

void census_unload(struct census *census, struct span name)
{
    census->totals.unloads++;
    if (name.len == 0)
        return;
    struct arrival arrival;
    struct stem *stem = stem_table_find(&census->table, name, &arrival);
    if (stem != NULL) {
        stem->unloads++;
    } else if (census->table.evict_loads > 0) {
        const struct family *family = family_match(name);
        if (family != NULL && census->tally[family_index(family)].loads > 0)
            census->tally[family_index(family)].unloads++;
    }
}

void census_invokes(struct census *census, struct span name, struct span target)
{
    const struct family *family = family_match(name);
    if (family == NULL)
        return;
    char text[EVENT_NAME_MAX];
    span_copy(target, text, sizeof text);
    struct invokes *smallest = &census->invokes[0];
    for (size_t i = 0; i < INVOKES_MAX; i++) {
        struct invokes *invokes = &census->invokes[i];
        if (invokes->family == family && strcmp(invokes->target, text) == 0) {
            invokes->count++;
            return;
        }
        if (invokes->count < smallest->count)
            smallest = invokes;
    }
    smallest->family = family;
    smallest->error = smallest->count++;
    memcpy(smallest->target, text, sizeof text);
}

void census_loader_type(struct census *census, struct span type, int64_t loaders, int64_t classes)
{
    census->totals.loads = saturated_add(census->totals.loads, classes);
    const struct family *family = family_of_loader(type);
    if (family == NULL || loaders <= 0)
        return;
    struct tally *tally = &census->tally[family_index(family)];
    tally->loader_classes = saturated_add(tally->loader_classes, classes);
    if (loaders > tally->most_loaders) {
        char *copy = strndup(type.ptr, type.len);
        if (copy == NULL)
            return;
        free(tally->loader_type);
        tally->loader_type = copy;
        tally->most_loaders = loaders;
    }
}

void census_totals(const struct census *census, struct census_totals *totals)
{
    *totals = census->totals;
    totals->stems = (int64_t)census->table.stem_count;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* A row in the making: stems of one family, or one stem of an unknown one. */
struct sum {
    const struct family *family;
    const struct stem *biggest;
    enum shape_kind kind; /* of biggest, when unknown */
    int64_t loads, unloads, names, max_same_name, repeating;
};

static void sum_add(struct sum *sum, const struct stem *stem)
{
    const struct shape *shape = &stem->shape;
    int64_t same = shape_max_same_name(shape);
    if (sum->biggest == NULL || shape->loads > sum->biggest->shape.loads ||
        (shape->loads == sum->biggest->shape.loads && strcmp(stem->text, sum->biggest->text) < 0))
        sum->biggest = stem;
    sum->loads = saturated_add(sum->loads, shape->loads);
    sum->unloads = saturated_add(sum->unloads, stem->unloads);
    sum->names = saturated_add(sum->names, shape_names(shape));
    sum->max_same_name = MAX(sum->max_same_name, same);
    if (shape->loads >= OFTEN)
        sum->repeating = saturated_add(sum->repeating, shape->loads);
}

static void sum_tally(struct sum *sum, const struct tally *tally)
{
    sum->loads = saturated_add(sum->loads, tally->loads);
    sum->unloads = saturated_add(sum->unloads, tally->unloads);
    sum->names = saturated_add(sum->names, tally->names);
    sum->max_same_name = MAX(sum->max_same_name, tally->max_same_name);
    if (sum->biggest == NULL)
        sum->biggest = tally->first;
    if (sum->loads == 0 && tally->loader_classes > 0) {
        sum->loads = tally->loader_classes;
        if (tally->loader_classes >= OFTEN)
            sum->repeating = tally->loader_classes;
    }
}

static const char *sum_name(const struct sum *sum)
{
    return sum->family != NULL ? sum->family->id : sum->biggest->text;
}

static bool sum_before(const struct sum *a, const struct sum *b)
{
    return a->loads != b->loads ? a->loads > b->loads : strcmp(sum_name(a), sum_name(b)) < 0;
}

/* Keeps the largest max sums, sorted. */
static int keep(struct sum *largest, int count, int max, const struct sum *sum)
{
    int at = count;
    while (at > 0 && sum_before(sum, &largest[at - 1]))
        at--;
    if (at >= max)
        return count;
    int moved = (count < max ? count : max - 1) - at;
    memmove(&largest[at + 1], &largest[at], (size_t)moved * sizeof largest[0]);
    largest[at] = *sum;
    return count < max ? count + 1 : max;
}

static const char *most_invoked(const struct census *census, const struct family *family)
{
    const struct invokes *most = NULL;
    for (size_t i = 0; i < INVOKES_MAX; i++) {
        const struct invokes *invokes = &census->invokes[i];
        if (invokes->count > 0 && invokes->family == family &&
            (most == NULL || invokes->count - invokes->error > most->count - most->error))
            most = invokes;
    }
    return most != NULL ? most->target : "";
}

static void copy(const char *text, char out[EVENT_NAME_MAX])
{
    span_copy(span_from_cstr(text), out, EVENT_NAME_MAX);
}

static void fill_row(const struct census *census, const struct sum *sum, struct family_row *row)
{
    *row = (struct family_row){.loads = sum->loads,
                               .unloads = sum->unloads,
                               .names = sum->names,
                               .max_same_name = sum->max_same_name,
                               .repeating = sum->repeating};
    const struct stem *stem = sum->biggest;
    if (stem != NULL) {
        copy(stem->text, row->stem);
        copy(stem->example, row->example);
        copy(stem->source, row->source);
    }
    if (sum->family == NULL) {
        /* One name repeated is called by that name: nothing has shown that its digits vary. */
        if (sum->kind == SHAPE_REPEATED)
            copy(row->example, row->stem);
        snprintf(row->family, sizeof row->family, "unknown:%s", row->stem);
        return;
    }
    snprintf(row->family, sizeof row->family, "%s", sum->family->id);
    copy(most_invoked(census, sum->family), row->invokes);
    const char *type = census->tally[family_index(sum->family)].loader_type;
    if (type != NULL) {
        copy(type, row->source);
        if (stem == NULL) {
            copy(type, row->stem);
            copy(type, row->example);
        }
    }
}

int census_rows(const struct census *census, struct family_row *rows, int max)
{
    struct sum known[FAMILY_COUNT] = {0}, largest[EVENT_ROWS_MAX];
    int count = 0;
    max = MIN(max, EVENT_ROWS_MAX);
    if (max <= 0)
        return 0;

    for (const struct stem *stem = NULL; (stem = stem_table_next(&census->table, stem)) != NULL;) {
        if (stem->family != NULL && stem->family->evidence == FAMILY_BY_NAME) {
            sum_add(&known[family_index(stem->family)], stem);
            continue;
        }
        enum shape_kind kind = shape_kind(&stem->shape);
        if (kind == SHAPE_NONE)
            continue;
        if (stem->family != NULL) {
            sum_add(&known[family_index(stem->family)], stem);
            continue;
        }
        struct sum unknown = {.kind = kind};
        sum_add(&unknown, stem);
        count = keep(largest, count, max, &unknown);
    }
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        known[i].family = family_at(i);
        sum_tally(&known[i], &census->tally[i]);
        if (known[i].loads > 0)
            count = keep(largest, count, max, &known[i]);
    }
    for (int i = 0; i < count; i++)
        fill_row(census, &largest[i], &rows[i]);
    return count;
}

/* --- from texts of a JVM ---------------------------------------------------------------------- */

static const struct span NO_SOURCE = {"", 0};

static enum parse_result add_classes(struct census *census, struct span text)
{
    struct classes classes;
    struct classes_row row;
    classes_begin(&classes, text);
    while (classes_next(&classes, &row)) {
        if (!row.is_array)
            census_load(census, row.name, NO_SOURCE);
    }
    return classes.lines.result;
}

static enum parse_result add_hierarchy(struct census *census, struct span text)
{
    struct class_hierarchy hierarchy;
    struct class_hierarchy_row row;
    class_hierarchy_begin(&hierarchy, text);
    while (class_hierarchy_next(&hierarchy, &row)) {
        census_load(census, row.name, NO_SOURCE);
        if (row.invokes.len > 0)
            census_invokes(census, row.name, row.invokes);
    }
    return hierarchy.lines.result;
}

static enum parse_result add_histogram(struct census *census, struct span text)
{
    struct class_histogram histogram;
    struct class_histogram_row row;
    class_histogram_begin(&histogram, text);
    while (class_histogram_next(&histogram, &row)) {
        if (row.name.len > 0 && row.name.ptr[0] != '[')
            census_load(census, row.name, NO_SOURCE);
    }
    return histogram.lines.result;
}

enum parse_result census_add_list(struct census *census, enum census_method method,
                                  struct span text)
{
    switch (method) {
    case CENSUS_CLASSES:
        return add_classes(census, text);
    case CENSUS_CLASS_HIERARCHY:
        return add_hierarchy(census, text);
    case CENSUS_CLASS_HISTOGRAM:
        return add_histogram(census, text);
    case CENSUS_LOAD_LOG:
    case CENSUS_LOADER_TYPES:
    case CENSUS_METHOD_COUNT:
        break;
    }
    return PARSE_MALFORMED;
}

void census_add_loaders(struct census *census, const struct loader_row *rows, int count)
{
    for (int i = 0; i < count; i++)
        census_loader_type(census, span_from_cstr(rows[i].type), rows[i].loaders, rows[i].classes);
}

int64_t census_add_log(struct census *census, struct span *text)
{
    struct class_log_line line;
    int64_t named = 0;
    while (class_log_next(text, &line)) {
        if (line.kind == CLASS_LOG_LOAD)
            census_load(census, line.name, line.source);
        else if (line.kind == CLASS_LOG_UNLOAD)
            census_unload(census, line.name);
        else
            continue;
        named++;
    }
    return named;
}
