/*
 * class_rows: the families of a class-load log: what was loaded and unloaded, by normalised name
 * and source.
 *
 *   Script#  file:/groovy/shell      one stem (floor/base/normalize.h), one source: one row
 *
 * A source that is a class name, as the host of a lambda is, is normalised like one; in a path long
 * numbers and what looks random are folded. A line of an unload names no source: it is counted in
 * the row of that stem with the most loaded classes left, which is exact while a stem has one
 * source, as nearly all have. Different names and the most frequent one are counted as
 * analyzers/classes/stem_table.h does: exactly for a few, estimated beyond.
 *
 *   class_rows_init -> class_rows_load, class_rows_unload -> class_rows_pick -> class_rows_free
 *
 * Memory is bounded by row_max, about 1 KB a row: when the table is full, the rows seen least make
 * room; what they had stays counted in a fold per known family and one for all others. Calling
 * context: one thread.
 */
#pragma once

#include "analyzers/classes/stem_table.h"
#include "analyzers/model/event.h"

/*
 * time_line: loads and unloads over time, of a log of unknown length.
 *
 * A bucket is 1 ms wide at first. When there are more than TIME_LINE_BUCKETS of them, ten (or six,
 * or whatever leads to the next width of a clock) become one: so a log of any length is held in
 * about 100 to 1000 buckets, of a width people know.
 *
 * Time is what the log says: uptime, or else time of day. Steps backwards are mended: one of more
 * than RESTART_MS is another JVM's start (or a clock that was set), from where time goes on; a
 * smaller one is two threads' lines that changed places. A log without times is held by its lines:
 * read "line" for "ms" then.
 *
 *   time_line_set, now->loads++ ... -> bucket[0 .. bucket_count), each width_ms long
 *
 * A zeroed struct is an empty one. Calling context: one thread.
 */
#define TIME_LINE_BUCKETS  1024
#define TIME_LINE_RESTARTS 32 /* remembered; all are counted */
#define RESTART_MS         1000

struct time_bucket {
    int64_t loads;
    int64_t unloads;
};

struct time_line {
    /* While 0 <= log_ms - bucket_from_ms < width_ms, *now is the bucket. */
    int64_t bucket_from_ms; /* as the log counts, not mended */
    uint64_t width_ms;      /* 0: nothing was fed yet */
    struct time_bucket *now;
    int64_t log_ms; /* last time fed; */
    int64_t ms;     /* since the beginning */

    int64_t first_ms; /* as the log said it */
    int64_t mend_ms;  /* the log's time + mend_ms - first_ms is the time since the beginning */
    int64_t last_ms;  /* since the beginning; the highest so far */
    int width;        /* index of width_ms */
    int bucket_count;
    int64_t restarts;
    int64_t restart_ms[TIME_LINE_RESTARTS];

    /* Marks at times that double: how things were a while ago, without keeping all of them. */
    uint32_t marks;
    int64_t mark_ms, mark_before_ms;

    struct time_bucket bucket[TIME_LINE_BUCKETS];
};

/* For a time outside of the bucket, or the first. */
void time_line_move(struct time_line *line, int64_t log_ms);

/* It is log_ms now. */
static inline void time_line_set(struct time_line *line, int64_t log_ms)
{
    if ((uint64_t)(log_ms - line->bucket_from_ms) >= line->width_ms ||
        log_ms < line->log_ms - RESTART_MS)
        time_line_move(line, log_ms);
    line->log_ms = log_ms;
    line->ms = log_ms + line->mend_ms - line->first_ms;
}

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

/* The sums of rows that were displaced. */
struct class_fold {
    int64_t loads;
    int64_t unloads;
    int64_t names; /* a sum over rows: one that came back is counted again */
    int64_t rows;
};

struct class_rows {
    struct stem_table table;
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
