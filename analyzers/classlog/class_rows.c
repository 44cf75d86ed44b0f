#include "analyzers/classlog/class_rows.h"

#include "analyzers/classes/family.h"

#include <stdio.h>
#include <stdlib.h>

#define SOURCES_MAX 8 /* of one stem; the others are one row */

/* --- life ------------------------------------------------------------------------------------- */

bool class_rows_init(struct class_rows *rows, int row_max)
{
    *rows = (struct class_rows){0};
    return stem_table_init(&rows->table, row_max > 0 ? (size_t)row_max : CLASS_ROWS_MAX,
                           sizeof(struct class_row));
}

void class_rows_free(struct class_rows *rows)
{
    stem_table_free(&rows->table);
}

/* --- sources ---------------------------------------------------------------------------------- */

static bool is_path(struct span source)
{
    return memchr(source.ptr, '/', source.len) != NULL ||
           memchr(source.ptr, ':', source.len) != NULL;
}

static bool is_piece(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           ((unsigned char)c & 0x80) != 0;
}

/* Five digits in a row are no version (20250101 is, and loses little). */
static bool has_long_number(struct span piece)
{
    int digits = 0;
    for (size_t i = 0; i < piece.len; i++) {
        digits = piece.ptr[i] >= '0' && piece.ptr[i] <= '9' ? digits + 1 : 0;
        if (digits == 5)
            return true;
    }
    return false;
}

/* Paths of temporary files are as many as the classes from them. Writes a C string. */
static void fold_source(struct span source, char out[STEM_MAX])
{
    struct name_parts parts;
    if (source.len == 0 || !is_path(source)) {
        bool words = source.len > 0 && memchr(source.ptr, ' ', source.len) != NULL;
        if (words)
            span_copy(source, out, STEM_MAX); /* "shared objects file" */
        else
            normalize(source, out, &parts);
        return;
    }
    size_t len = 0, at = 0;
    while (at < source.len && len < EVENT_NAME_MAX - 1) {
        size_t end = at;
        while (end < source.len && is_piece(source.ptr[end]))
            end++;
        struct span piece = span_of(source.ptr + at, end - at);
        if (piece.len == 0) {
            out[len++] = source.ptr[at++];
            continue;
        }
        at = end;
        if (has_long_number(piece) || name_looks_random(piece)) {
            out[len++] = '*';
            continue;
        }
        size_t room = EVENT_NAME_MAX - 1 - len, taken = piece.len < room ? piece.len : room;
        memcpy(out + len, piece.ptr, taken);
        len += taken;
    }
    out[len] = '\0';
}

/* The row of a stem for a source, of which *count are taken; NULL: there is none yet. */
static struct class_row *row_of(struct stem *stem, struct span source, int *count)
{
    *count = 0;
    for (; stem != NULL; stem = stem->next, ++*count) {
        if (stem->source_len == source.len && memcmp(stem->source, source.ptr, source.len) == 0)
            return (struct class_row *)stem;
    }
    return NULL;
}

/* --- making room ------------------------------------------------------------------------------ */

static struct class_fold *fold_of(struct class_rows *rows, const struct family *family)
{
    bool known = family != NULL && family->evidence == FAMILY_BY_NAME;
    return &rows->fold[known ? family_index(family) : FAMILY_COUNT];
}

static void evict(void *context, struct stem *stem)
{
    struct class_fold *fold = fold_of(context, stem->family);
    fold->loads += stem->shape.loads;
    fold->unloads += stem->unloads;
    fold->names += shape_names(&stem->shape);
    fold->rows++;
    stem_destroy(stem);
}

/* --- feeding ---------------------------------------------------------------------------------- */

static void roll(struct class_row *row, uint32_t marks)
{
    if (row->marks == marks)
        return;
    struct time_bucket now = {row->stem.shape.loads, row->stem.unloads};
    row->at_mark_before = marks - row->marks > 1 ? now : row->at_mark;
    row->at_mark = now;
    row->marks = marks;
}

static struct class_row *insert(struct class_rows *rows, const struct arrival *arrival,
                                struct span source, struct log_place at,
                                const struct time_line *time)
{
    struct class_row *row = (struct class_row *)stem_table_insert(&rows->table, arrival, source);
    if (row == NULL)
        return NULL;
    row->first = row->last = at;
    row->marks = time->marks;
    return row;
}

void class_rows_load(struct class_rows *rows, struct span name, struct span source,
                     struct log_place at, const struct time_line *time)
{
    struct arrival arrival;
    char folded[STEM_MAX];
    int count;
    rows->loads++;
    struct stem *stem = stem_table_find(&rows->table, name, &arrival);
    struct class_row *row = row_of(stem, source, &count);
    if (row == NULL) {
        fold_source(source, folded);
        folded[EVENT_NAME_MAX - 1] = '\0';
        row = row_of(stem, span_from_cstr(folded), &count);
        if (row == NULL && count >= SOURCES_MAX) {
            memcpy(folded, "*", 2);
            row = row_of(stem, span_from_cstr(folded), &count);
        }
    }
    if (row == NULL) {
        if (stem_table_make_room(&rows->table, rows->loads, evict, rows))
            stem_table_find(&rows->table, name, &arrival);
        row = insert(rows, &arrival, span_from_cstr(folded), at, time);
    }
    if (row == NULL) {
        const struct family *family = family_match(name);
        struct class_fold *fold = fold_of(rows, family != NULL ? family : family_of_source(source));
        fold->loads++;
        fold->names++;
        return;
    }
    if (row->stem.shape.loads == 0)
        row->first = at;
    roll(row, time->marks);
    row->last = at;
    stem_add(&row->stem, &arrival, source);
}

void class_rows_unload(struct class_rows *rows, struct span name, struct log_place at,
                       const struct time_line *time)
{
    static const struct span no_source = {"", 0};
    struct arrival arrival;
    struct stem *most = stem_table_find(&rows->table, name, &arrival);
    struct class_row *row = (struct class_row *)most;
    for (struct stem *stem = most; stem != NULL; stem = stem->next) {
        if (stem->shape.loads - stem->unloads > most->shape.loads - most->unloads)
            row = (struct class_row *)(most = stem);
    }
    /* Loaded before the log began, or the row of its load has made room. */
    if (row == NULL && rows->table.evict_loads == 0)
        row = insert(rows, &arrival, no_source, at, time);
    if (row == NULL) {
        fold_of(rows, family_match(name))->unloads++;
        return;
    }
    roll(row, time->marks);
    row->stem.unloads++;
    if (row->stem.shape.loads == 0)
        row->last = at;
}

/* --- the result ------------------------------------------------------------------------------- */

static void fill_family(const struct class_row *row, struct class_family *out)
{
    const struct family *family = row->stem.family;
    bool made = shape_kind(&row->stem.shape) != SHAPE_NONE &&
                !class_source_is_archive(span_of(row->stem.source, row->stem.source_len));
    out->family[0] = '\0';
    if (family != NULL && (family->evidence == FAMILY_BY_NAME || made))
        snprintf(out->family, sizeof out->family, "%s", family->id);
    else if (made)
        snprintf(out->family, sizeof out->family, "unknown:%s", out->name);
}

static void fill(const struct class_row *row, const struct time_line *time,
                 struct class_family *out)
{
    const struct stem *stem = &row->stem;
    const struct shape *shape = &stem->shape;
    *out = (struct class_family){.loads = shape->loads,
                                 .unloads = stem->unloads,
                                 .names = shape_names(shape),
                                 .names_exact = shape_names_are_exact(shape),
                                 .same_name = shape_max_same_name(shape),
                                 .same_name_exact = shape_max_same_name_is_exact(shape),
                                 .first = row->first,
                                 .last = row->last};
    /* Nothing has shown that its digits vary. */
    const char *name = out->names > 1 || shape->loads == 0 ? stem->text : stem->example;
    span_copy(span_from_cstr(name), out->name, sizeof out->name);
    span_copy(span_from_cstr(stem->source), out->source, sizeof out->source);
    span_copy(span_from_cstr(stem->example), out->example, sizeof out->example);
    fill_family(row, out);

    struct time_bucket then = row->at_mark_before;
    if (time->marks - row->marks == 1)
        then = row->at_mark;
    else if (time->marks != row->marks)
        then = (struct time_bucket){shape->loads, stem->unloads};
    out->recent_loads = shape->loads - then.loads;
    out->recent_unloads = stem->unloads - then.unloads;
}

struct candidate {
    const struct class_row *row; /* or: */
    size_t fold;
    int64_t loads, unloads;
    const char *text; /* orders equal rows, the same way each time */
    const char *source;
};

static int by_loads(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    return compare_numbers(b->loads, a->loads) ?: compare_numbers(b->unloads, a->unloads)
               ?: strcmp(a->text, b->text) ?: strcmp(a->source, b->source);
}

static void fill_fold(const struct class_fold *fold, const char *id, struct class_family *out)
{
    *out = (struct class_family){.loads = fold->loads,
                                 .unloads = fold->unloads,
                                 .names = fold->names,
                                 .name = "*",
                                 .source = "*",
                                 .fold = true};
    snprintf(out->family, sizeof out->family, "%s", id);
}

int class_rows_pick(const struct class_rows *rows, const struct time_line *time,
                    struct class_family *picked, int max, struct class_family *other)
{
    const struct stem_table *table = &rows->table;
    struct candidate *all = malloc((table->stem_count + FAMILY_COUNT) * sizeof all[0]);
    if (all == NULL)
        return -1;
    size_t count = 0;
    for (const struct stem *stem = NULL; (stem = stem_table_next(table, stem)) != NULL;)
        all[count++] = (struct candidate){(const struct class_row *)stem,
                                          0,
                                          stem->shape.loads,
                                          stem->unloads,
                                          stem->text,
                                          stem->source};
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        const struct class_fold *fold = &rows->fold[i];
        if (fold->loads + fold->unloads > 0)
            all[count++] = (struct candidate){NULL, i, fold->loads, fold->unloads, "*", "*"};
    }
    qsort(all, count, sizeof all[0], by_loads);
    fill_fold(&rows->fold[FAMILY_COUNT], "other", other);
    int filled = 0;
    for (size_t i = 0; i < count; i++) {
        struct class_family spare, *out = filled < max ? &picked[filled++] : &spare;
        if (all[i].row != NULL)
            fill(all[i].row, time, out);
        else
            fill_fold(&rows->fold[all[i].fold], family_at(all[i].fold)->id, out);
        if (out != &spare)
            continue;
        other->loads += spare.loads;
        other->unloads += spare.unloads;
        other->names += spare.names;
        other->recent_loads += spare.recent_loads;
        other->recent_unloads += spare.recent_unloads;
    }
    free(all);
    return filled;
}

/* --- loads and unloads over time -------------------------------------------------------------- */

/* Each divides the next. The last ten are for clocks that lie. */
static const int64_t widths_ms[] = {1,
                                    10,
                                    100,
                                    1000,
                                    10000,
                                    60000,
                                    600000,
                                    3600000,
                                    INT64_C(6) * 3600000,
                                    INT64_C(24) * 3600000,
                                    INT64_C(240) * 3600000,
                                    INT64_C(2400) * 3600000,
                                    INT64_C(24000) * 3600000,
                                    INT64_C(240000) * 3600000,
                                    INT64_C(2400000) * 3600000,
                                    INT64_C(24000000) * 3600000};
#define WIDTHS (int)(sizeof widths_ms / sizeof widths_ms[0])

/* 2.8 million years, and sums of such times and those of class_log.h do not overflow. */
#define LONGEST_MS (widths_ms[WIDTHS - 1] * TIME_LINE_BUCKETS)

static void widen(struct time_line *line)
{
    int factor = (int)(widths_ms[line->width + 1] / widths_ms[line->width]);
    int count = (line->bucket_count + factor - 1) / factor;
    for (int i = 0; i < count; i++) {
        struct time_bucket sum = {0, 0};
        for (int j = i * factor; j < (i + 1) * factor && j < line->bucket_count; j++) {
            sum.loads += line->bucket[j].loads;
            sum.unloads += line->bucket[j].unloads;
        }
        line->bucket[i] = sum;
    }
    for (int i = count; i < line->bucket_count; i++)
        line->bucket[i] = (struct time_bucket){0, 0};
    line->bucket_count = count;
    line->width++;
}

static void restart(struct time_line *line, int64_t log_ms)
{
    if (line->mend_ms < LONGEST_MS)
        line->mend_ms += line->log_ms - log_ms;
    if (line->restarts < TIME_LINE_RESTARTS)
        line->restart_ms[line->restarts] = log_ms + line->mend_ms - line->first_ms;
    line->restarts++;
}

void time_line_move(struct time_line *line, int64_t log_ms)
{
    if (line->width_ms == 0) {
        line->first_ms = line->log_ms = log_ms;
        line->bucket_count = 1;
    }
    if (log_ms < line->log_ms - RESTART_MS)
        restart(line, log_ms);
    int64_t ms = log_ms + line->mend_ms - line->first_ms;
    ms = MAX(ms, 0);
    ms = MIN(ms, LONGEST_MS - 1);
    while (ms / widths_ms[line->width] >= TIME_LINE_BUCKETS)
        widen(line);
    int64_t width = widths_ms[line->width];
    int at = (int)(ms / width);
    if (at >= line->bucket_count)
        line->bucket_count = at + 1;
    line->now = &line->bucket[at];
    line->width_ms = (uint64_t)width;
    line->bucket_from_ms = at * width - line->mend_ms + line->first_ms;
    line->last_ms = MAX(line->last_ms, ms);
    if (ms >= 2 * line->mark_ms && ms > 0) {
        line->mark_before_ms = line->mark_ms;
        line->mark_ms = ms;
        line->marks++;
    }
}
