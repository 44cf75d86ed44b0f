/*
 * soak_run: a soak: the command or the process, its JVMs under watch (watching.h), the counter; until
 * it is over. The result is a list of trials to be judged.
 *
 *   soak_run_create -> soak_run_loop -> (the fields) -> soak_run_destroy
 *
 * Ends when --for is over, on a signal, when the command and its JVMs have ended, or, with
 * fail_fast, when it is certain to fail. Signals are passed on to the command, unless the terminal
 * has sent them to it as well. Processes that the command started are ended with it. stderr only.
 * One per process (signals); one thread.
 */
#ifndef NMTWATCH_SOAK_SOAK_RUN_H
#define NMTWATCH_SOAK_SOAK_RUN_H

#include "analyzers/soak/trial.h"
#include "nmtwatch/soak/child.h"
#include "nmtwatch/soak/counter.h"
#include "nmtwatch/watch/watching.h"
#include "reports/soak/soak_report.h"
#include "analyzers/soak/estimate.h"

#include <stddef.h>

#define SOAK_JVMS_MAX 32
#define SOAK_PATH_MAX 4096

struct soak_run_options {
    struct watch_options watch;
    struct budgets budgets;
    char *const *command;  /* NULL: target is followed */
    struct target *target; /* taken over */
    int64_t for_ms;        /* 0: until the end of the command */
    bool nmt;
    bool fail_fast;
    const char *record; /* "%p" becomes the pid; NULL: none */
    bool record_force;
    const char *per; /* NULL: no counter */
    int64_t per_interval_ms;
};

struct soak_jvm {
    struct watched *watched; /* its time begins with its watch */
    struct trial *trial;
    char recording[SOAK_PATH_MAX]; /* empty: none */
};

enum soak_end { SOAK_END_TIME, SOAK_END_COMMAND, SOAK_END_GONE, SOAK_END_SIGNAL, SOAK_END_FAILED };

struct soak_run {
    const struct soak_run_options *options;
    struct child child; /* pid 0: none */
    struct counter *counter;
    struct watching watching;
    int64_t start_ms; /* the loop's time */
    int64_t wall_start_ms;
    int64_t now_ms; /* since start_ms */
    enum soak_end end;
    int jvm_count;
    struct soak_jvm jvms[SOAK_JVMS_MAX];
    int jvms_missed;   /* beyond SOAK_JVMS_MAX, or ended before they could be watched */
    char failure[320]; /* the last one to watch a JVM; empty when none */
    int64_t next_scan_ms;
    int64_t next_progress_ms;
};

/* Starts the command. 0, or the exit code after one line on stderr. */
int soak_run_create(struct soak_run *run, const struct soak_run_options *options);
void soak_run_loop(struct soak_run *run);
void soak_run_destroy(struct soak_run *run);

/*
 * soak_outcome: what a run has shown, summed up for the reports.
 *
 * The JVM that failed speaks for the soak, else the one that was judged longest: what a build
 * starts besides, and which ends before anything can be said of it, does not make it undecided. A
 * command that ended by itself with an error does, and so does a JVM that was followed and is gone.
 * Setup context.
 */

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

/*
 * budget_text: "internal=5MB/h,metaspace=+20MB,rss=2GB,classes=100/h" -> budgets.
 *
 *   KEY=AMOUNT/s|min|h|d     slope          KEY=AMOUNT    height, never to be passed
 *   KEY=AMOUNT/iteration     of --per       KEY=+AMOUNT   growth since the baseline
 *
 * Keys: analyzers/soak/soak_series.def, and NMT's categories in lower case with dashes. Strict: a
 * typo must not be a limit that silently does not exist. Setup context.
 */

/* Adds to what budgets already holds. False with one sentence in error. */
bool budget_text_parse(const char *text, struct budgets *budgets, char *error, size_t error_size);

#endif
