/*
 * class_rows: the families of a class-load log: what was loaded and unloaded, by normalised name
 * and source.
 *
 *   Script#  file:/groovy/shell      one stem (analyzers/classes/normalize.h), one source: one row
 *
 * A source that is a class name, as the host of a lambda is, is normalised like one; in a path long
 * numbers and what looks random are folded. A line of an unload names no source: it is counted in
 * the row of that stem with the most loaded classes left, which is exact while a stem has one
 * source, as nearly all have.
 *
 *   class_rows_create -> class_rows_load, class_rows_unload -> class_rows_pick -> ..._destroy
 *
 * Memory is bounded (memory_bytes in class_rows_create): when the table is full, the rows seen
 * least make room; what they had stays counted in a fold per known family and one for all others.
 * Calling context: one thread.
 */
#ifndef ANALYZERS_CLASSLOG_CLASS_ROWS_H
#define ANALYZERS_CLASSLOG_CLASS_ROWS_H

#include "analyzers/classes/family.h"
#include "analyzers/classes/shape.h"
#include "analyzers/classlog/name_count.h"
#include "analyzers/classlog/name_hash.h"
#include "analyzers/classlog/time_line.h"
#include "analyzers/model/event.h"

#define CLASS_ROWS_MAX   8192
/* Loads of a row whose names are looked at for a shape; the rest is counted only. */
#define CLASS_ROW_SHAPED 128

struct class_stem;

/* Where in the log: the time since its beginning, and the line. */
struct log_place {
    int64_t line;
    int64_t ms;
};

struct class_row {
    struct class_stem *stem;
    struct class_row *next; /* of the same stem */
    int64_t loads;
    int64_t unloads;
    struct log_place first; /* load; of a row without loads, unload */
    struct log_place last;
    uint32_t marks; /* time_line.marks when these were taken: */
    struct time_bucket at_mark, at_mark_before;
    struct name_count names; /* not used when the stem is the name itself */
    const struct family *family;
    struct shape shape; /* of the first CLASS_ROW_SHAPED loads */
    bool archived;      /* from the CDS archive or the runtime image */
    uint16_t example_at;
    char text[]; /* source, example */
};

struct class_stem {
    uint64_t hash;
    struct class_row *rows;
    int row_count;
    bool folded; /* the stem stands for more than one name */
    uint16_t len;
    char text[];
};

/* What rows had that gave up their place. */
struct class_fold {
    int64_t loads;
    int64_t unloads;
    int64_t names; /* a sum over rows: one that came back is counted again */
    int64_t rows;
};

struct class_rows {
    struct class_stem **stems; /* open addressing, at most half full */
    size_t slot_count;
    int stem_count, row_count, row_max;
    struct name_budget budget;
    int sweeps;
    int64_t evict_loads;
    int64_t next_sweep; /* not before so many loads in all */
    int64_t loads;      /* of the log, for next_sweep: whoever feeds sets it */
    struct class_fold fold[FAMILY_COUNT + 1]; /* by family_index; the last: all others */
};

/* False when out of memory. row_max 0: CLASS_ROWS_MAX. */
bool class_rows_init(struct class_rows *rows, int row_max);
void class_rows_free(struct class_rows *rows);

/* The row or stem it was counted in; NULL when it was counted in a fold. *swept: rows and stems
 * handed out before are gone. */
struct class_row *class_rows_load(struct class_rows *rows, struct span name, struct span source,
                                  struct log_place at, const struct time_line *time, bool *swept);
struct class_stem *class_rows_unload(struct class_rows *rows, struct span name, struct log_place at,
                                     const struct time_line *time, bool *swept);

void class_row_roll(struct class_row *row, uint32_t marks);

/* One more load of a row that has had CLASS_ROW_SHAPED of them. */
static inline void class_row_count(struct class_row *row, struct log_place at, uint32_t marks)
{
    if (row->marks != marks)
        class_row_roll(row, marks);
    row->loads++;
    row->last = at;
}

/* The row an unload of the stem is counted in. */
static inline struct class_row *class_stem_unloading(struct class_stem *stem)
{
    struct class_row *most = stem->rows;
    for (struct class_row *row = most->next; row != NULL; row = row->next) {
        if (row->loads - row->unloads > most->loads - most->unloads)
            most = row;
    }
    return most;
}

static inline void class_stem_count(struct class_stem *stem, struct log_place at, uint32_t marks)
{
    struct class_row *row = class_stem_unloading(stem);
    if (row->marks != marks)
        class_row_roll(row, marks);
    row->unloads++;
    if (row->loads == 0)
        row->last = at;
}

/* One row of the result. */
struct class_family {
    char name[EVENT_NAME_MAX];     /* the stem; the name itself when it is only one */
    char family[EVENT_FAMILY_MAX]; /* id, unknown:<stem>, or empty: ordinary classes */
    char source[EVENT_NAME_MAX];   /* "*": several, folded; empty: unloads of what was loaded before
                                      the log began */
    char example[EVENT_NAME_MAX];
    int64_t loads;
    int64_t unloads;
    int64_t names;
    int64_t same_name;    /* loads of the most frequent name; */
    bool same_name_exact; /* or at least so many */
    bool names_exact;
    bool fold;            /* many rows in one; the places are not known */
    int64_t recent_loads; /* since time_line.mark_before_ms */
    int64_t recent_unloads;
    struct log_place first, last;
};

/* The max rows with the most loads, folds of known families among them; *other gets the sum of all
 * that is in none of them. Returns how many, -1 when out of memory. */
int class_rows_pick(const struct class_rows *rows, const struct time_line *time,
                    struct class_family *picked, int max, struct class_family *other);

#endif
