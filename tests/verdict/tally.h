/*
 * tally: the results of many trials, of one set, added up by kind of series, and the tables they
 * make.
 *
 *   struct tally {0} -> tally_add ... -> tally_print -> tally_free
 *
 * Deterministic: the same trials in the same order make the same bytes.
 */
#pragma once

#include "tests/verdict/trial.h"

#define TALLY_KINDS_MAX 64

struct tally_kind {
    const char *kind;
    int series;
    int grew;
    double converged_days;
    int asks;
    int asks_wrong;
    int false_alarms[METHOD_COUNT];
    int early[METHOD_COUNT];             /* series */
    double *found_after_h[METHOD_COUNT]; /* grew; INFINITY: never */
    int end[TRIAL_ENDS];
    int called_right;
    int intervals;
    int intervals_right;
    double *half_width; /* where the slope is not nothing */
    int half_widths;
    int with_classes; /* grew with the classes loaded, and the verdict had them */
    int per_class_right;
    int share_right;
    int left_right;
    int room;
};

struct tally {
    struct tally_kind kind[TALLY_KINDS_MAX]; /* as they first came */
    int kinds;
    int states[TRUTH_COUNT][VERDICT_STATE_COUNT];
};

/* False: no memory, or too many kinds. */
bool tally_add(struct tally *tally, const struct trial *trial);
/* Markdown. */
void tally_print(struct tally *tally, FILE *out);
void tally_free(struct tally *tally);
