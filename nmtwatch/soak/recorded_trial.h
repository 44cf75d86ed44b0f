/*
 * recorded_trial: a recording, judged again, as a trial: the reference of --against, and the soak
 * that is judged afterwards. Setup context.
 */
#ifndef NMTWATCH_SOAK_RECORDED_TRIAL_H
#define NMTWATCH_SOAK_RECORDED_TRIAL_H

#include "analyzers/soak/trial.h"

#include <stddef.h>

struct recorded_trial {
    struct trial *trial;
    int64_t wall_start_ms;
    char gone[512];   /* how the JVM ended; empty when the recording does not say so */
    char damage[512]; /* empty when the recording is whole */
};

/* False with one sentence in error. The caller destroys the trial. */
bool recorded_trial_read(const char *path, const struct budgets *budgets,
                         struct recorded_trial *recorded, char *error, size_t error_size);

#endif
