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
#pragma once

#include "analyzers/soak/trial.h"
#include "nmtwatch/watch/watching.h"
#include "reports/soak/soak_report.h"
#include "analyzers/soak/estimate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* counter: `--per CMD`: a command that prints a number (requests served, deployments done), run
 * again and again beside a soak without ever waiting for it.
 *
 *   counter_create -> counter_fd / counter_step ... -> counter_destroy
 *
 * `sh -c CMD` in a process group of its own, with NMTWATCH_PID, the JVM's pid, in its environment;
 * killed after COUNTER_TIMEOUT_MS. Its output is the first number it prints; its standard error is
 * ours. Event loop, one thread. */
#define COUNTER_TIMEOUT_MS 10000

struct counter;

/* NULL when out of memory. */
struct counter *counter_create(const char *command, int64_t interval_ms);
/* For poll(2); -1: not running. */
int counter_fd(const struct counter *counter);
/* When it wants to be stepped again. */
int64_t counter_wait_ms(const struct counter *counter, int64_t now_ms);
/* True when there is a new reading. jvm: for its environment; 0: there is none yet, and it is not
 * run. */
bool counter_step(struct counter *counter, pid_t jvm, int64_t now_ms, double *value);
struct counter_counts {
    int64_t readings, failed;
    char last_failure[160]; /* one sentence, empty when none */
};
struct counter_counts counter_counts(const struct counter *counter);
void counter_destroy(struct counter *counter);

/* child: the command under a soak: started, signalled, reaped, and its end as a sentence.
 *
 *   child_start -> child_step ... -> child_signal_all, child_step ... -> child_death
 *
 * Its standard files are ours, and it stays in our process group: on a terminal Ctrl-C reaches it
 * as it would without us. Signals sent to us alone are passed on (child_signal). The run asks it to end
 * should we die. Processes that it leaves become our children (PR_SET_CHILD_SUBREAPER) and are
 * ended with it. One per process; one thread. */
/* descendants: the processes that a command has started, its own children's children too.
 *
 * A process that loses its parent becomes a child of ours (the command is started under a child
 * subreaper) and is recognised by a mark in its environment; other children of ours (helpers) do
 * not have it. One pass over /proc. One thread. */
#define DESCENDANTS_MAX  512
#define DESCENDANTS_MARK "NMTWATCH_SOAK" /* =PID of ours */

struct descendants {
    int count;
    pid_t pid[DESCENDANTS_MAX]; /* those that live, root included */
    int orphan_count;           /* children of ours that have ended and are not waited for */
    pid_t orphan[DESCENDANTS_MAX];
};

#define CHILD_CANNOT_RUN 126
#define CHILD_NOT_FOUND  127

struct child {
    pid_t pid;
    bool ended, stopped_by_us;
    int status;       /* of waitpid */
    int orphan_count; /* at the last poll: those still there at the next one are ours to reap */
    pid_t orphans[DESCENDANTS_MAX];
};

/* nmt: asks the JVMs it starts, by their environment, to track native memory. 0, or an exit code
 * (126, 127, 74) with one sentence in error. */
int child_start(struct child *child, char *const *command, bool nmt, char *error,
                size_t error_size);
/* Reaps; finds the processes that descend from it. */
void child_step(struct child *child, struct descendants *family);
void child_signal(const struct child *child, int signal_number);
/* To it and all that descends from it: it is to end now. */
void child_signal_all(struct child *child, const struct descendants *family, int signal_number);
/* It ended by itself, and not with 0. */
bool child_failed(const struct child *child);
/* "the command ended with exit code 3"; "" while it runs. */
void child_death(const struct child *child, char *out, size_t size);

#define SOAK_JVMS_MAX 32
#define SOAK_PATH_MAX 4096

struct soak_run_options {
    struct watch_options watch;
    struct budgets budgets;
    char *const *command;  /* NULL: target is followed */
    struct target *target; /* taken over */
    int64_t for_ms;        /* 0: until the end of the command */
    bool nmt, fail_fast;
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
    int64_t next_scan_ms, next_progress_ms;
};

/* Starts the command. 0, or the exit code after one line on stderr. */
int soak_run_create(struct soak_run *run, const struct soak_run_options *options);
void soak_run_loop(struct soak_run *run);
void soak_run_destroy(struct soak_run *run);

/* soak_outcome: what a run has shown, summed up for the reports.
 *
 * The JVM that failed speaks for the soak, else the one that was judged longest: what a build
 * starts besides, and which ends before anything can be said of it, does not make it undecided. A
 * command that ended by itself with an error does, and so does a JVM that was followed and is gone.
 * Setup context. */

struct soak_outcome {
    struct soak_summary summary; /* points into what follows */
    int count;
    struct soak_result *results[SOAK_JVMS_MAX];
    const char *recordings[SOAK_JVMS_MAX];
    char reason[640], death[160];
};

/* NULL when out of memory. The run (or the trial) must live as long. reference may be NULL. */
struct soak_outcome *soak_outcome_of_run(const struct soak_run *run, const struct trial *reference);
/* Of a recording: gone as it says. */
struct soak_outcome *soak_outcome_of_trial(const struct trial *trial, const char *path,
                                           const char *gone, const struct trial *reference);
void soak_outcome_destroy(struct soak_outcome *outcome);

/* recorded_trial: a recording, judged again, as a trial: the reference of --against, and the soak
 * that is judged afterwards. Setup context. */
struct recorded_trial {
    struct trial *trial;
    int64_t wall_start_ms;
    char gone[512];   /* how the JVM ended; empty when the recording does not say so */
    char damage[512]; /* empty when the recording is whole */
};

/* False with one sentence in error. The caller destroys the trial. */
bool recorded_trial_read(const char *path, const struct budgets *budgets,
                         struct recorded_trial *recorded, char *error, size_t error_size);

/* budget_text: "internal=5MB/h,metaspace=+20MB,rss=2GB,classes=100/h" -> budgets.
 *
 *   KEY=AMOUNT/s|min|h|d     slope          KEY=AMOUNT    height, never to be passed
 *   KEY=AMOUNT/iteration     of --per       KEY=+AMOUNT   growth since the baseline
 *
 * Keys: analyzers/soak/soak_series.def, and NMT's categories in lower case with dashes. Strict: a
 * typo must not be a limit that silently does not exist. Setup context. */

/* Adds to what budgets already holds. False with one sentence in error. */
bool budget_text_parse(const char *text, struct budgets *budgets, char *error, size_t error_size);
