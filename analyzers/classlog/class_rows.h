/*
 * class_rows: the families of a class-load log: what was loaded and unloaded, by normalised name
 * and source.
 *
 *   Script#  file:/groovy/shell      one stem (analyzers/classes/normalize.h), one source: one row
 *
 * A source that is a class name, as the host of a lambda is, is normalised like one; in a path long
 * numbers and what looks random are folded. A line of an unload names no source: it is counted in
 * the row of that stem with the most loaded classes left, which is exact while a stem has one
 * source, as nearly all have. Different names and the most frequent one are counted as
 * analyzers/classes/shape.h does: exactly for a few, estimated beyond.
 *
 *   class_rows_init -> class_rows_load, class_rows_unload -> class_rows_pick -> class_rows_free
 *
 * Memory is bounded by row_max, about 1 KB a row: when the table is full, the rows seen least make
 * room; what they had stays counted in a fold per known family and one for all others. Calling
 * context: one thread.
 */
#ifndef ANALYZERS_CLASSLOG_CLASS_ROWS_H
#define ANALYZERS_CLASSLOG_CLASS_ROWS_H

#include "analyzers/classes/stem_table.h"
#include "analyzers/classlog/time_line.h"
#include "analyzers/model/event.h"

#define CLASS_ROWS_MAX 8192

/* Where in the log: the time since its beginning, and the line. */
struct log_place {
    int64_t line;
    int64_t ms;
};

struct class_row {
    struct stem stem;       /* its shape counts the loads; its source is folded */
    struct log_place first; /* load; of a row without loads, unload */
    struct log_place last;
    uint32_t marks; /* time_line.marks when these were taken: */
    struct time_bucket at_mark, at_mark_before;
};

/* What rows had that gave up their place. */
struct class_fold {
    int64_t loads;
    int64_t unloads;
    int64_t names; /* a sum over rows: one that came back is counted again */
    int64_t rows;
};

struct class_rows {
    struct stem_table table;
    int sweeps;
    int64_t evict_loads;
    int64_t next_sweep; /* not before so many loads in all */
    int64_t loads;
    struct class_fold fold[FAMILY_COUNT + 1]; /* by family_index; the last: all others */
};

/* False when out of memory. row_max 0: CLASS_ROWS_MAX. */
bool class_rows_init(struct class_rows *rows, int row_max);
void class_rows_free(struct class_rows *rows);

/* name: not empty. time: at at.ms. */
void class_rows_load(struct class_rows *rows, struct span name, struct span source,
                     struct log_place at, const struct time_line *time);
void class_rows_unload(struct class_rows *rows, struct span name, struct log_place at,
                       const struct time_line *time);

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
