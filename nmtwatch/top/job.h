/*
 * job: another verb of this program as a child: a triage, an observation, a profile. Its output is collected
 * and shown; the loop that watches never waits for it.
 *
 *   job_begin -> job_step (when job_fd is readable) ... -> job_stop at will -> job_free
 *
 * Of a text beyond JOB_TEXT_MAX the rest is dropped, which is noted. The child is in a process group
 * of its own and ends with us. One thread.
 */
#ifndef NMTWATCH_TOP_JOB_H
#define NMTWATCH_TOP_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define JOB_TEXT_MAX  (1 << 20)
#define JOB_WORDS_MAX 12
#define JOB_END_MS    8000

struct job {
    pid_t pid; /* 0: none; stays when it has ended */
    int fd;    /* -1: its text is complete */
    int status;
    bool ended, cut;
    char title[160];
    char folder[64]; /* of a result that is shown; "": none */
    char result[96]; /* file in it */
    char *text;      /* NUL-terminated; NULL before the first byte */
    size_t length;
};

/* words: the verb and its arguments, NULL-terminated; "%r" stands for the file whose text is the
 * result, in a folder of our own. False with one sentence; the job before must have ended. */
bool job_begin(struct job *job, const char *title, const char *const *words, char *error,
               size_t size);
/* Reads what is there, and reaps. True when something is new. */
bool job_step(struct job *job);
static inline bool job_runs(const struct job *job)
{
    return job->pid > 0 && !job->ended;
}
/* Asks it to end early (SIGINT): it shows what there is. */
void job_stop(const struct job *job);
/* Asks it to end early where it still runs, so that it restores what it has switched on in the JVM, and waits
 * for JOB_END_MS at most; then SIGKILL. */
void job_free(struct job *job);

#endif
