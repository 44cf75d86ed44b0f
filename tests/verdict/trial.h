/*
 * trial: one made series, judged from its first point to its last as a watch would judge it, by the
 * verdict and by the baselines. The verdicts are counted against the truth.
 *
 * Everybody is asked each TRIAL_ASK_MS of the series' own time, and rings through a growth_alarm of
 * TRIAL_NEED of TRIAL_OF. An alarm counts
 *
 *   as found   while the series grows
 *   as early   while the truth is open: start-up, the first day of a daily load, a leak just
 * stopped as false   when the series has converged: raised then, or still on TRIAL_LINGER_H after
 * that
 */
#pragma once

#include "tests/verdict/baselines.h"
#include "tests/verdict/shape.h"

#include <stdio.h>

#define TRIAL_ASK_MS   300000
#define TRIAL_NEED     3
#define TRIAL_OF       5
#define TRIAL_LINGER_H 2.0

enum method { METHOD_VERDICT, METHOD_BASELINES, METHOD_COUNT = METHOD_BASELINES + BASELINE_COUNT };

struct trial_method {
    int false_alarms;
    bool early;
    double found_after_h; /* INFINITY: grew, and was not found */
};

struct trial {
    const struct shape *shape;
    unsigned seed;
    bool grew;
    double converged_days;
    int converged_asks;
    int converged_asks_wrong; /* said GROWING: what a single verdict gets wrong, without an alarm */
    struct trial_method method[METHOD_COUNT];
    struct verdict last; /* at the end of the series */
    int intervals;       /* asked where the true slope is known */
    int intervals_right; /* contained it */
    double half_width;   /* of the last one, as a share of the true slope; NAN */
};

/* The answer at the end of the series, which is what `nmtwatch verdict FILE` gives. */
enum trial_end { TRIAL_RIGHT, TRIAL_CANNOT_TELL, TRIAL_WRONG, TRIAL_ENDS };
enum trial_end trial_end(const struct trial *trial);

/* failures: a line for each mistake of the verdict, with how to see it again; may be NULL.
 * False: no memory. */
bool trial_run(struct trial *trial, const struct shape *shape, unsigned seed, FILE *failures);
