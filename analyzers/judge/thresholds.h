/*
 * thresholds: the numbers alerts are raised at; the table is thresholds.def.
 * Any thread. Plain data.
 */
#ifndef ANALYZERS_JUDGE_THRESHOLDS_H
#define ANALYZERS_JUDGE_THRESHOLDS_H

#include <stdbool.h>
#include <stdint.h>

enum threshold {
#define THRESHOLD(id, key, dflt, unit, min, max, meaning) TH_##id,
#include "analyzers/judge/thresholds.def"
#undef THRESHOLD
    THRESHOLD_COUNT,
};

struct thresholds {
    int64_t value[THRESHOLD_COUNT];
};

struct threshold_row {
    const char *key;
    int64_t dflt;
    const char *unit;
    int64_t min;
    int64_t max;
    const char *meaning;
};

const struct threshold_row *threshold_row(enum threshold which);
void thresholds_default(struct thresholds *thresholds);
/* THRESHOLD_COUNT when there is no such key. */
enum threshold threshold_from_key(const char *key);

#endif
