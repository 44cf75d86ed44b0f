/*
 * exchange: a private folder in the target's /tmp, through which files pass to and from its agent.
 *
 *   exchange_open -> exchange_file ... -> exchange_close (removes the folder and the files of ours
 *                                                         and the agent's that are in it)
 *
 * It belongs to the target's user, mode 0700, under a name nobody can guess; in a container it is
 * made in the container's /tmp, wherever that leads there (rooted.h). Everything is made, filled
 * and removed with the rights of the target's user (as_target.h): whatever that user puts in the
 * way, as a link or a mount, root does nothing there that the user could not do. A folder that is
 * not the one just made is left alone. What comes out of it is the target's: names are never
 * followed through links or mounts, and a file that was made here is read back by the descriptor it
 * was made with.
 *
 * Setup context, one thread.
 */
#ifndef NMTWATCH_PROFILE_EXCHANGE_H
#define NMTWATCH_PROFILE_EXCHANGE_H

#include "nmtwatch/jvm/target.h"

#define EXCHANGE_RECORDING "recording.jfr"

struct exchange {
    struct target target;
    int tmp_fd, folder_fd;
    char name[48];
    char theirs[224]; /* "/tmp/nmtwatch-...", as the target names it, without links */
};

/* False with errno: EXDEV when something else came to stand in the place of the new folder; EACCES
 * when the target's user may not write to its /tmp; EPERM when its ids cannot be taken. */
bool exchange_open(struct exchange *exchange, const struct target *target);
/* A new file of the target's user; -1 with errno. */
int exchange_file(const struct exchange *exchange, const char *name, mode_t mode);
/* A file that the target made: regular, its own, one name; -1 with errno. */
int exchange_read(const struct exchange *exchange, const char *name);
bool exchange_remove(const struct exchange *exchange, const char *name);
void exchange_close(struct exchange *exchange);

#endif
