#include "analyzers/classlog/class_rows.h"

#include "analyzers/classes/class_source.h"
#include "analyzers/classes/stem_table.h"

#include <stdio.h>
#include <stdlib.h>

#define SOURCES_MAX  8 /* of one stem; the others are one row */
#define EXACT_BYTES  (12 << 20)
#define SKETCH_BYTES (16 << 20)

/* --- life ------------------------------------------------------------------------------------- */

bool class_rows_init(struct class_rows *rows, int row_max)
{
    *rows =
        (struct class_rows){.row_max = row_max > 0 ? row_max : CLASS_ROWS_MAX, .slot_count = 16};
    while (rows->slot_count < (size_t)rows->row_max * 2)
        rows->slot_count *= 2;
    rows->budget = (struct name_budget){EXACT_BYTES, SKETCH_BYTES};
    rows->stems = calloc(rows->slot_count, sizeof rows->stems[0]);
    return rows->stems != NULL;
}

static void row_destroy(struct class_rows *rows, struct class_row *row)
{
    shape_free(&row->shape);
    name_count_free(&row->names, &rows->budget);
    free(row);
}

void class_rows_free(struct class_rows *rows)
{
    for (size_t i = 0; rows->stems != NULL && i < rows->slot_count; i++) {
        struct class_stem *stem = rows->stems[i];
        while (stem != NULL && stem->rows != NULL) {
            struct class_row *row = stem->rows;
            stem->rows = row->next;
            row_destroy(rows, row);
        }
        free(stem);
    }
    free(rows->stems);
    rows->stems = NULL;
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

/* --- stems ------------------------------------------------------------------------------------ */

static struct class_stem **slot_of(struct class_stem **stems, size_t slot_count, struct span stem,
                                   uint64_t hash)
{
    size_t at = (size_t)hash & (slot_count - 1);
    while (stems[at] != NULL && (stems[at]->hash != hash || stems[at]->len != stem.len ||
                                 memcmp(stems[at]->text, stem.ptr, stem.len) != 0))
        at = (at + 1) & (slot_count - 1);
    return &stems[at];
}

static struct class_stem *look_up(const struct class_rows *rows, struct arrival *arrival)
{
    struct span stem = span_of(arrival->stem, arrival->stem_len);
    arrival->stem_hash = stem_hash(stem);
    return *slot_of(rows->stems, rows->slot_count, stem, arrival->stem_hash);
}

static bool has_tails_of(const struct class_stem *stem, uint32_t bytes)
{
    for (const struct class_row *row = stem->rows; row != NULL; row = row->next) {
        if (row->shape.random_min_bytes == bytes && shape_kind(&row->shape) == SHAPE_RANDOM)
            return true;
    }
    return false;
}

/* As stem_table_find: a tail that does not look random by itself is taken for one where others of
 * the same length stand. */
static struct class_stem *find_stem(const struct class_rows *rows, struct span name,
                                    struct arrival *arrival)
{
    arrival->name = name;
    arrival->stem_len = normalize(name, arrival->stem, &arrival->parts);
    struct class_stem *stem = look_up(rows, arrival);
    if (stem != NULL || arrival->parts.tail_bytes < 6 || arrival->parts.hidden)
        return stem;
    struct arrival neighbour = *arrival;
    neighbour.stem_len = neighbour.parts.tail_at + 1;
    if (neighbour.stem_len >= STEM_MAX)
        return NULL;
    neighbour.stem[neighbour.parts.tail_at] = '*';
    stem = look_up(rows, &neighbour);
    if (stem == NULL || !has_tails_of(stem, arrival->parts.tail_bytes))
        return NULL;
    neighbour.parts.folded = true;
    neighbour.parts.counted = false;
    neighbour.parts.random_bytes = neighbour.parts.tail_bytes;
    *arrival = neighbour;
    return stem;
}

static struct class_stem *insert_stem(struct class_rows *rows, const struct arrival *arrival)
{
    struct class_stem *stem = malloc(sizeof *stem + arrival->stem_len + 1);
    if (stem == NULL)
        return NULL;
    *stem = (struct class_stem){.hash = arrival->stem_hash,
                                .folded = arrival->parts.folded,
                                .len = (uint16_t)arrival->stem_len};
    memcpy(stem->text, arrival->stem, arrival->stem_len);
    stem->text[arrival->stem_len] = '\0';
    *slot_of(rows->stems, rows->slot_count, span_of(arrival->stem, arrival->stem_len),
             arrival->stem_hash) = stem;
    rows->stem_count++;
    return stem;
}

static struct class_row *find_row(struct class_stem *stem, const char *source)
{
    for (struct class_row *row = stem->rows; row != NULL; row = row->next) {
        if (strcmp(row->text, source) == 0)
            return row;
    }
    return NULL;
}

static struct class_row *insert_row(struct class_rows *rows, struct class_stem *stem,
                                    struct span name, struct span source, const char *folded_source,
                                    struct log_place at, const struct time_line *time)
{
    size_t source_len = strlen(folded_source);
    size_t example_len = name.len < EVENT_NAME_MAX ? name.len : EVENT_NAME_MAX - 1;
    struct class_row *row = calloc(1, sizeof *row + source_len + example_len + 2);
    if (row == NULL)
        return NULL;
    row->stem = stem;
    row->first = row->last = at;
    row->marks = time->marks;
    shape_init(&row->shape);
    row->family = family_match(name);
    if (row->family == NULL)
        row->family = family_of_source(source);
    row->archived = class_source_is_archive(source);
    row->example_at = (uint16_t)(source_len + 1);
    memcpy(row->text, folded_source, source_len + 1);
    span_copy(name, row->text + row->example_at, example_len + 1);
    row->next = stem->rows;
    stem->rows = row;
    stem->row_count++;
    rows->row_count++;
    return row;
}

/* --- making room ------------------------------------------------------------------------------ */

static struct class_fold *fold_of(struct class_rows *rows, const struct family *family)
{
    bool known = family != NULL && family->evidence == FAMILY_BY_NAME;
    return &rows->fold[known ? family_index(family) : FAMILY_COUNT];
}

static int64_t row_names(const struct class_row *row)
{
    return row->stem->folded ? name_count_names(&row->names) : row->loads > 0;
}

static void evict(struct class_rows *rows, struct class_row *row)
{
    struct class_fold *fold = fold_of(rows, row->family);
    fold->loads += row->loads;
    fold->unloads += row->unloads;
    fold->names += row_names(row);
    fold->rows++;
    rows->row_count--;
    row_destroy(rows, row);
}

/* True: stems and rows have gone. */
static bool sweep(struct class_rows *rows)
{
    struct class_stem **stems = calloc(rows->slot_count, sizeof stems[0]);
    if (stems == NULL)
        return false;
    for (size_t i = 0; i < rows->slot_count; i++) {
        struct class_stem *stem = rows->stems[i];
        if (stem == NULL)
            continue;
        for (struct class_row **link = &stem->rows; *link != NULL;) {
            struct class_row *row = *link;
            if (row->loads <= rows->evict_loads) {
                *link = row->next;
                stem->row_count--;
                evict(rows, row);
            } else {
                link = &row->next;
            }
        }
        if (stem->rows == NULL) {
            free(stem);
            rows->stem_count--;
        } else {
            *slot_of(stems, rows->slot_count, span_of(stem->text, stem->len), stem->hash) = stem;
        }
    }
    free(rows->stems);
    rows->stems = stems;
    rows->sweeps++;
    return true;
}

/* As the census does: what was seen once makes room, later what was seen twice, ..., never what was
 * seen often. True when something has gone. */
static bool make_room(struct class_rows *rows)
{
    if (rows->row_count < rows->row_max || rows->loads < rows->next_sweep)
        return false;
    if (rows->evict_loads == 0)
        rows->evict_loads = 1;
    if (!sweep(rows))
        return false;
    if (rows->row_count > rows->row_max / 4 * 3) {
        if (rows->evict_loads < SHAPE_MEMBERS - 1)
            rows->evict_loads++;
        else
            rows->next_sweep = rows->loads + rows->row_max / 4;
    }
    return true;
}

/* --- feeding ---------------------------------------------------------------------------------- */

void class_row_roll(struct class_row *row, uint32_t marks)
{
    struct time_bucket now = {row->loads, row->unloads};
    row->at_mark_before = marks - row->marks > 1 ? now : row->at_mark;
    row->at_mark = now;
    row->marks = marks;
}

static void add_shape(struct class_row *row, const struct arrival *arrival, struct span source)
{
    const struct name_parts *parts = &arrival->parts;
    shape_add(&row->shape, parts, parts->folded ? stem_hash(arrival->name) : 0,
              class_source_is_code(source));
}

struct class_row *class_rows_load(struct class_rows *rows, struct span name, struct span source,
                                  struct log_place at, const struct time_line *time, bool *swept)
{
    struct arrival arrival;
    char folded_source[STEM_MAX];
    *swept = false;
    fold_source(source, folded_source);
    folded_source[EVENT_NAME_MAX - 1] = '\0';
    struct class_stem *stem = find_stem(rows, name, &arrival);
    struct class_row *row = stem != NULL ? find_row(stem, folded_source) : NULL;
    if (row == NULL && stem != NULL && stem->row_count >= SOURCES_MAX) {
        memcpy(folded_source, "*", 2);
        row = find_row(stem, folded_source);
    }
    if (row == NULL) {
        *swept = make_room(rows);
        if (*swept)
            stem = find_stem(rows, name, &arrival);
        bool room = rows->row_count < rows->row_max;
        if (stem == NULL && room)
            stem = insert_stem(rows, &arrival);
        if (stem != NULL && room)
            row = insert_row(rows, stem, name, source, folded_source, at, time);
    }
    if (row == NULL) {
        const struct family *family = family_match(name);
        struct class_fold *fold = fold_of(rows, family != NULL ? family : family_of_source(source));
        fold->loads++;
        fold->names++;
        return NULL;
    }
    if (row->loads == 0)
        row->first = at;
    class_row_count(row, at, time->marks);
    if (row->loads <= CLASS_ROW_SHAPED)
        add_shape(row, &arrival, source);
    if (stem->folded)
        name_count_add(&row->names, name_hash(name.ptr, name.len), &rows->budget);
    return row;
}

struct class_stem *class_rows_unload(struct class_rows *rows, struct span name, struct log_place at,
                                     const struct time_line *time, bool *swept)
{
    static const struct span no_source = {"", 0};
    struct arrival arrival;
    *swept = false;
    struct class_stem *stem = find_stem(rows, name, &arrival);
    /* Loaded before the log began, or the row of its load has made room. */
    if (stem == NULL && rows->sweeps == 0 && rows->row_count < rows->row_max) {
        stem = insert_stem(rows, &arrival);
        if (stem != NULL)
            insert_row(rows, stem, name, no_source, "", at, time);
    }
    if (stem == NULL || stem->rows == NULL) {
        fold_of(rows, family_match(name))->unloads++;
        return NULL;
    }
    class_stem_count(stem, at, time->marks);
    return stem;
}

/* --- the result ------------------------------------------------------------------------------- */

/* A name that comes again and again is no ordinary one, whatever it looks like. */
static enum shape_kind kind_of(const struct class_row *row)
{
    enum shape_kind kind = shape_kind(&row->shape);
    bool exact;
    int64_t most = row->stem->folded ? name_count_most(&row->names, &exact) : row->loads;
    return kind == SHAPE_NONE && most >= SHAPE_MEMBERS ? SHAPE_REPEATED : kind;
}

static void fill_family(const struct class_row *row, struct class_family *out)
{
    enum shape_kind kind = kind_of(row);
    const struct family *family = row->family;
    out->family[0] = '\0';
    if (family != NULL &&
        (family->evidence == FAMILY_BY_NAME || (kind != SHAPE_NONE && !row->archived)))
        snprintf(out->family, sizeof out->family, "%s", family->id);
    else if (kind != SHAPE_NONE && !row->archived)
        snprintf(out->family, sizeof out->family, "unknown:%s", out->name);
}

static void fill(const struct class_row *row, const struct time_line *time,
                 struct class_family *out)
{
    const char *example = row->text + row->example_at;
    *out = (struct class_family){.loads = row->loads,
                                 .unloads = row->unloads,
                                 .names = row_names(row),
                                 .names_exact = row->names.sketch == NULL,
                                 .same_name = row->loads,
                                 .same_name_exact = true,
                                 .first = row->first,
                                 .last = row->last};
    if (row->stem->folded)
        out->same_name = name_count_most(&row->names, &out->same_name_exact);
    /* Nothing has shown that its digits vary. */
    const char *name = out->names > 1 || row->loads == 0 ? row->stem->text : example;
    span_copy(span_from_cstr(name), out->name, sizeof out->name);
    span_copy(span_from_cstr(row->text), out->source, sizeof out->source);
    span_copy(span_from_cstr(example), out->example, sizeof out->example);
    fill_family(row, out);

    struct time_bucket then = row->at_mark_before;
    if (time->marks - row->marks == 1)
        then = row->at_mark;
    else if (time->marks != row->marks)
        then = (struct time_bucket){row->loads, row->unloads};
    out->recent_loads = row->loads - then.loads;
    out->recent_unloads = row->unloads - then.unloads;
}

struct candidate {
    const struct class_row *row; /* or: */
    size_t fold;
    int64_t loads, unloads;
    const char *text; /* to tell equals apart, the same way each time */
    const char *source;
};

static int by_loads(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->loads != b->loads)
        return a->loads < b->loads ? 1 : -1;
    if (a->unloads != b->unloads)
        return a->unloads < b->unloads ? 1 : -1;
    int order = strcmp(a->text, b->text);
    return order != 0 ? order : strcmp(a->source, b->source);
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
    struct candidate *all = malloc(((size_t)rows->row_count + FAMILY_COUNT) * sizeof all[0]);
    if (all == NULL)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < rows->slot_count; i++) {
        if (rows->stems[i] == NULL)
            continue;
        for (const struct class_row *row = rows->stems[i]->rows; row != NULL; row = row->next)
            all[count++] =
                (struct candidate){row, 0, row->loads, row->unloads, row->stem->text, row->text};
    }
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
