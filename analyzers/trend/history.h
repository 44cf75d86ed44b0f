/*
 * history: a series of any length in bounded memory, with a resolution that is proportional to age.
 *
 * The problem: a verdict looks at the last minute and at the last week, and a week at 1 Hz is
 * 600 000 samples. An exponential histogram (Datar, Gionis, Indyk, Motwani, SIAM J. Comput. 31,
 * 2002) keeps the newest samples as they are; when a level is full its two oldest buckets become
 * one of the next level, which then stands for twice as many samples:
 *
 *     level 2: [4][4][4][4]..  level 1: [2][2][2]..  level 0: [1][1][1][1] <- newest
 *
 * So every trailing window, short or long, is covered by HISTORY_LEVEL to 2 * HISTORY_LEVEL buckets
 * of about equal width. A bucket knows its mean time, the mean, the lowest value and the last
 * regressor: what a GC moves is judged by its low points, which averages would hide.
 *
 * Memory: 24 bytes a bucket, a level is allocated when it is first needed: 1 hour at 1 Hz takes
 * 7 levels (6.5 KB), a week 14 (13 KB), and each doubling after it 960 bytes more.
 *
 * Values are kept relative to the first one, in single precision: an error of 2^-24 of what the
 * series has moved. Times must not decrease; the caller sees to it.
 *
 *   struct history {0} -> history_add ... -> history_view ... -> history_free
 *
 * One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_LEVEL  40 /* buckets a level; even */
#define HISTORY_LEVELS 40 /* 2^40 samples and more: never full */

struct history_level;

struct history {
    int64_t count;
    int64_t first_ms;
    int64_t last_ms;
    int64_t origin;           /* first value; what views are relative to */
    int64_t regressor_origin; /* first regressor that was not missing */
    bool have_regressor;
    struct history_level *level[HISTORY_LEVELS];
};

/* regressor: VERDICT_MISSING when there is none. False when out of memory: nothing was added. */
bool history_add(struct history *history, int64_t ms, double value_from_origin, int64_t regressor);

/* A window of time as a point: all that fell into it. */
struct history_bin {
    double x_ms;      /* mean time, since first_ms */
    double mean;      /* from origin */
    double low;       /* the lowest, from origin */
    double regressor; /* the last one, from regressor_origin; NAN: none */
    double count;     /* samples */
};

/* The samples from from_ms to the end in up to max bins of equal width; empty ones are left out.
 * Returns how many. */
int history_view(const struct history *history, int64_t from_ms, struct history_bin *bins, int max);
/* Samples since from_ms, to the resolution of a bucket. */
int64_t history_count_since(const struct history *history, int64_t from_ms);
size_t history_bytes(const struct history *history);
/* Forgets everything before from_ms, to the resolution of a bucket. */
void history_forget_before(struct history *history, int64_t from_ms);
void history_free(struct history *history);

/*
 * despike: takes single wild samples out of a series before anything looks at it.
 *
 * A Hampel filter (Hampel, J. Am. Stat. Assoc. 69, 1974) of width five: a sample that is further
 * from the median of itself and its two neighbours on each side than six times their median
 * deviation, and than DESPIKE_BYTES, becomes that median. An edge, a ramp and a sawtooth pass
 * unchanged: they are not alone. The price is a delay of two samples.
 *
 *   struct despike {0} -> despike_push ...
 *
 * Plain data; any thread that owns it.
 */
#define DESPIKE_WIDTH 5
#define DESPIKE_BYTES 65536.0 /* below this nothing is worth being called wild */

struct despike_point {
    int64_t ms;
    int64_t regressor;
    double value;
};

struct despike {
    int count; /* in the window */
    struct despike_point window[DESPIKE_WIDTH];
};

/* True: *out is the sample two before this one. */
bool despike_push(struct despike *despike, const struct despike_point *in,
                  struct despike_point *out);
