/* trial_internal: the inside of a trial, shared by trial.c (what comes in) and trial_result.c (what
 * follows from it). Nobody else includes it. */
#ifndef ANALYZERS_SOAK_TRIAL_INTERNAL_H
#define ANALYZERS_SOAK_TRIAL_INTERNAL_H

#include "analyzers/soak/trial.h"

struct trial_series {
    int64_t count;
    int64_t last;
    int64_t highest;
    int64_t baseline_count; /* since the baseline */
    int64_t baseline;
    struct points points;
    struct verdict_series *verdict; /* NULL until the baseline, and when memory ran out */
};

struct trial {
    struct target_identity identity;
    struct budgets budgets;
    int64_t last_ms;
    int64_t baseline_ms; /* -1 until warm */
    char warmup_reason[96];
    bool have_nmt;
    int64_t nmt_total_bytes; /* the newest, heap included; 0 unknown */
    int64_t classes_loaded;  /* the newest; VERDICT_MISSING unknown */
    struct points counter;
    struct trial_series series[SOAK_SERIES_COUNT];
    int alert_count;
    struct alert alerts[SOAK_ALERTS_MAX];
    struct texts texts; /* of their findings */
    bool alert_over[SOAK_ALERTS_MAX];
};

#endif
