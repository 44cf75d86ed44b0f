/*
 * estimate: level and slope of a window of a series, with intervals that may be subtracted: the
 * arithmetic of comparing two recordings.
 *
 * The window is cut into blocks of equal time, of which only the medians count: a spike is not
 * seen, and neighbouring samples, which are correlated, do not count as independent.
 * Blocks are made twice as long while the residuals of neighbours still agree (lag-1
 * autocorrelation r above 0.3); what agreement is left widens the interval by sqrt((1+r)/(1-r)),
 * the usual correction of the effective number of samples for AR(1) noise (Bayley & Hammersley, J.
 * R. Stat. Soc. Suppl. 8, 1946).
 *
 *   slope       Theil-Sen over the blocks with Sen's interval (analyzers/trend/trend_line.h)
 *   level       at the end of the window: mean of the blocks -/+ Student's t * standard error;
 * where the slope is certain the line's end, whose standard error is twice that of the mean
 *   difference  b - a; half-widths add in quadrature
 *
 * No interval is narrower than the quantum the values come in. These intervals cover the noise
 * within a run: two runs of the same program differ by more. Pure; any thread.
 */
#pragma once

#include "analyzers/model/event.h"

/*
 * soak_series: which numbers of a JVM a soak judges, and how they are called.
 *
 * Series are numbered: first the rows of soak_series.def, then one for each NMT category (committed
 * bytes). A category's key is its name in lower case with dashes: "java-heap", "thread-stack".
 * "internal" and "metaspace" are the sums of soak_series.def, as the alerts mean them; the
 * categories of those names are "nmt-internal" and "nmt-metaspace". Any thread.
 */
enum soak_series {
#define SOAK_SERIES(id, key, title, unit, role) SOAK_##id,
#include "analyzers/soak/soak_series.def"
    SOAK_FIRST_CATEGORY,
    SOAK_SERIES_COUNT = SOAK_FIRST_CATEGORY + NMT_CATEGORY_COUNT,
};

enum soak_unit { SOAK_UNIT_BYTES, SOAK_UNIT_COUNT };
enum soak_role { SOAK_ROLE_CORE, SOAK_ROLE_WATCHED, SOAK_ROLE_SHOWN };

#define SOAK_KEY_MAX 40

/* out: SOAK_KEY_MAX bytes. */
void soak_series_key(enum soak_series series, char *out);
/* SOAK_SERIES_COUNT when no series is called so. */
enum soak_series soak_series_from_key(struct span key);
/* jdk_major says what Internal means. */
const char *soak_series_title(enum soak_series series, int jdk_major);
enum soak_unit soak_series_unit(enum soak_series series);
enum soak_role soak_series_role(enum soak_series series);
/* False when the sample does not hold it. Between 0 and 2^50: what lies outside is not true. */
bool soak_series_value(enum soak_series series, const struct sample *sample, int jdk_major,
                       int64_t *value);

/*
 * points: the raw course of a series, kept for comparisons: at most POINTS_MAX, whatever the
 * length. When it is full neighbours are merged two by two (mean time, mean value), so that hours
 * stay evenly covered. Times go up; a point that steps back is dropped.
 *
 *   struct points {0} -> points_add ... -> points_free
 *
 * One thread.
 */
#define POINTS_MAX 2048

struct point {
    int64_t ms;
    double value;
};

struct points {
    int count;
    size_t capacity;
    int each; /* samples that make one point */
    int pending;
    struct point sum; /* of the pending samples */
    struct point *at;
};

/* False only when out of memory: the point is then not kept. */
bool points_add(struct points *points, int64_t ms, double value);
void points_free(struct points *points);

struct estimate {
    bool known; /* false: too few points */
    double value;
    double low; /* 95 % */
    double high;
};

/* Over from_ms <= ms <= to_ms. quantum: the smallest step of a value, 1024 or 1. */
struct estimate estimate_level(const struct points *points, int64_t from_ms, int64_t to_ms,
                               double quantum);
/* Per hour. */
struct estimate estimate_slope(const struct points *points, int64_t from_ms, int64_t to_ms,
                               double quantum);
/* Growth of the series for each step of a counter (requests, deployments): a slope over the
 * counter, which is looked up at the series' times. Unknown while the counter has moved by less
 * than three. */
struct estimate estimate_per_step(const struct points *points, const struct points *counter,
                                  int64_t from_ms, int64_t to_ms, double quantum);
/* b - a. */
struct estimate estimate_difference(struct estimate a, struct estimate b);

/*
 * budget: what a series may do during a soak, and whether it did.
 *
 *   5MB/h        slope, of the segment the verdict speaks of
 *   1KB/iteration  slope over the counter of --per
 *   500MB        height: never above it
 *   +20MB        growth since the baseline that was taken when warm-up had ended
 *
 * A slope is kept when the whole 95 % interval is at or below it and broken when all of it is
 * above; in between a longer soak decides, and needs_ms says about how long: the interval of a
 * slope shrinks with the span to the power of 3/2. Pure; any thread.
 */
enum budget_kind { BUDGET_SLOPE, BUDGET_ITERATION, BUDGET_HEIGHT, BUDGET_GROWTH };

struct budget {
    enum soak_series series;
    enum budget_kind kind;
    double amount; /* bytes or a count; per hour, per iteration, or as it is */
    char text[48]; /* as it was given, without the key */
};

#define BUDGETS_MAX 32
struct budgets {
    int count;
    struct budget budget[BUDGETS_MAX];
};

/* Values are the exit codes of `nmtwatch soak`. */
enum soak_answer { SOAK_PASS = 0, SOAK_FAIL = 1, SOAK_UNDECIDED = 3 };

struct budget_outcome {
    const struct budget *budget;
    enum soak_answer answer;
    struct estimate measured; /* height and growth: value alone */
    int64_t needs_ms;         /* undecided slopes: a span that would decide; 0 unknown */
};

/* For SLOPE and ITERATION; span_ms is what the estimate stands on. */
struct budget_outcome budget_judge_slope(const struct budget *budget, struct estimate measured,
                                         int64_t span_ms);
/* For HEIGHT and GROWTH. */
struct budget_outcome budget_judge_amount(const struct budget *budget, bool known, double value);
