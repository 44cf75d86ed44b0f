/*
 * child: the command under a soak: started, signalled, reaped, and its end as a sentence.
 *
 *   child_start -> child_step ... -> child_signal_all, child_step ... -> child_death
 *
 * Its standard files are ours, and it stays in our process group: on a terminal Ctrl-C reaches it
 * as it would without us. Signals sent to us alone are passed on (child_signal). It is asked to end
 * should we die. Processes that it leaves become our children (PR_SET_CHILD_SUBREAPER) and are
 * ended with it. One per process; one thread.
 */
#ifndef NMTWATCH_SOAK_CHILD_H
#define NMTWATCH_SOAK_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * descendants: the processes that a command has started, its own children's children too.
 *
 * A process that loses its parent becomes a child of ours (the command is started under a child
 * subreaper) and is recognised by a mark in its environment; other children of ours (helpers) do
 * not have it. One pass over /proc. One thread.
 */
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
    bool ended;
    bool stopped_by_us;
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

#endif
