/*
 * exchange: a private folder in the target's /tmp, through which files pass to and from its agent.
 *
 *   exchange_open -> exchange_file ... -> exchange_close (removes the folder and all that is in it)
 *
 * It belongs to the target's user, mode 0700, under a name nobody can guess; in a container it is
 * made in the container's /tmp, wherever that leads there (rooted.h). What comes out of it is the
 * target's: names are never followed through links, and a file that was made here is read back by
 * the descriptor it was made with.
 *
 * Setup context, one thread.
 */
#ifndef NMTWATCH_PROFILE_EXCHANGE_H
#define NMTWATCH_PROFILE_EXCHANGE_H

#include "nmtwatch/jvm/target.h"

struct exchange {
    int tmp_fd, folder_fd;
    uid_t uid;
    gid_t gid;
    char name[48];
    char theirs[224]; /* "/tmp/nmtwatch-...", as the target names it, without links */
};

/* False with errno. */
bool exchange_open(struct exchange *exchange, const struct target *target);
/* A new file of the target's user; -1 with errno. */
int exchange_file(const struct exchange *exchange, const char *name, mode_t mode);
/* A file that the target made: regular, one name; -1 with errno. */
int exchange_read(const struct exchange *exchange, const char *name);
bool exchange_remove(const struct exchange *exchange, const char *name);
void exchange_close(struct exchange *exchange);

#endif
