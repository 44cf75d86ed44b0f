/*
 * soak_outcome: what a run has shown, summed up for the reports.
 *
 * The JVM that failed speaks for the soak, else the one that was judged longest: what a build
 * starts besides, and which ends before anything can be said of it, does not make it undecided. A
 * command that ended by itself with an error does, and so does a JVM that was followed and is gone.
 * Setup context.
 */
#ifndef NMTWATCH_SOAK_SOAK_OUTCOME_H
#define NMTWATCH_SOAK_SOAK_OUTCOME_H

#include "analyzers/soak/trial.h"
#include "nmtwatch/soak/soak_run.h"
#include "reports/soak/soak_words.h"

#include <stddef.h>

struct soak_outcome {
    struct soak_summary summary; /* points into what follows */
    int count;
    struct soak_result *results[SOAK_JVMS_MAX];
    const char *recordings[SOAK_JVMS_MAX];
    char reason[640];
    char death[160];
};

/* NULL when out of memory. The run (or the trial) must live as long. reference may be NULL. */
struct soak_outcome *soak_outcome_of_run(const struct soak_run *run, const struct trial *reference);
/* Of a recording: gone as it says. */
struct soak_outcome *soak_outcome_of_trial(const struct trial *trial, const char *path,
                                           const char *gone, const struct trial *reference);
void soak_outcome_destroy(struct soak_outcome *outcome);

/*
 * recorded_trial: a recording, judged again, as a trial: the reference of --against, and the soak
 * that is judged afterwards. Setup context.
 */
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
