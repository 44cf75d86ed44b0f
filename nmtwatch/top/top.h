/* top: the JVMs of this host on one screen, refreshed each second. A screen of the fleet that `serve`
 * keeps (serve/fleet.h: scan, members, watching): it adds keys and a screen, and asks no JVM anything of
 * its own.
 *
 *   top_usable -> top_run
 *
 * One per process (signals, terminal). */
#pragma once

#include "nmtwatch/top/rows.h"
#include "nmtwatch/serve/member.h"
#include "reports/page/terminal.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct top_options {
    struct watch_options watch;
    unsigned columns; /* a bit for each enum top_column */
    struct top_order order;
    int64_t pid;    /* opened at the start; 0: none */
    int64_t for_ms; /* 0: until q */
    bool colour;
};

/* The exit code: 0, or EXIT_IO with a line on stderr when the terminal fails or there is no memory. */
int top_run(const struct top_options *options);

/* detail: one JVM of `top`, as a page: memory by category with what has changed since the start, series,
 * findings with their fix, families of classes with their rates, class loaders, what watching it costs.
 *
 * Reads the member, changes nothing. One thread. */
/* Writes it as text for a terminal of that many columns. False when out of memory. */
bool detail_write(const struct member *member, const struct terminal *terminal, bool utf8);

/* job: another verb of this program as a child: a triage, an observation, a profile. Its output is collected
 * and shown; the loop that watches never waits for it.
 *
 *   job_begin -> job_step (when job_fd is readable) ... -> job_stop at will -> job_free
 *
 * Of a text beyond JOB_TEXT_MAX the rest is dropped, which is noted. The child is in a process group
 * of its own and ends with us. One thread. */
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
