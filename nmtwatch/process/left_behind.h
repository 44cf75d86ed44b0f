/* left_behind: children that are ended and not waited for.
 *
 * A child that touched a stranger's file or memory may stand in a system call that its owner withholds
 * (FUSE, a held mmap_lock): SIGKILL ends it when that owner lets it go, and waitpid would take as long. Such a child
 * is killed, counted, and reaped by a later call once it has ended. One thread. */
#pragma once

#include <sys/types.h>

/* Kills the child; without blocking. 0 and -1 are ignored. */
void left_behind(pid_t child);
/* Reaps those that have ended. How many have not. */
int left_behind_count(void);
