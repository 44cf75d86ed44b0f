/*
 * descendants: the processes that a command has started, its own children's children too.
 *
 * What loses its parent becomes a child of ours (the command is started under a child subreaper)
 * and is recognised by a mark in its environment; other children of ours (helpers) do not have it.
 * One pass over /proc. One thread.
 */
#ifndef NMTWATCH_SOAK_DESCENDANTS_H
#define NMTWATCH_SOAK_DESCENDANTS_H

#include <sys/types.h>

#define DESCENDANTS_MAX  512
#define DESCENDANTS_MARK "NMTWATCH_SOAK" /* =PID of ours */

struct descendants {
    int count;
    pid_t pid[DESCENDANTS_MAX]; /* those that live, root included */
    int orphan_count;           /* children of ours that have ended and nobody waits for */
    pid_t orphan[DESCENDANTS_MAX];
};

/* root: the command; its pid may have ended. */
void descendants_find(pid_t root, struct descendants *found);

#endif
