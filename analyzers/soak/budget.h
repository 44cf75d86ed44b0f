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
#ifndef ANALYZERS_SOAK_BUDGET_H
#define ANALYZERS_SOAK_BUDGET_H

#include "analyzers/soak/estimate.h"
#include "analyzers/soak/soak_series.h"

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
    int64_t needs_ms;         /* undecided slopes: a span that would tell; 0 unknown */
};

/* For SLOPE and ITERATION; span_ms is what the estimate stands on. */
struct budget_outcome budget_judge_slope(const struct budget *budget, struct estimate measured,
                                         int64_t span_ms);
/* For HEIGHT and GROWTH. */
struct budget_outcome budget_judge_amount(const struct budget *budget, bool known, double value);

#endif
