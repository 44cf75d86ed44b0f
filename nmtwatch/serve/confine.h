/*
 * confine: a process that gives its rights away for good: another user, no groups, no capabilities,
 * nothing to be gained by exec, and a filter of system calls (confine.def) for every thread.
 *
 * In a child that has one thread. False with a sentence; the process may not go on then.
 */
#ifndef NMTWATCH_SERVE_CONFINE_H
#define NMTWATCH_SERVE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct service_user {
    uid_t uid;
    gid_t gid;
};

/* By name or number; neither root nor who we are. False with a sentence. */
bool service_user_find(struct service_user *user, const char *name, char *error, size_t error_size);

/* with_commands: programs may be started (the key notify). */
bool confine(const struct service_user *user, bool with_commands, char *error, size_t error_size);

#endif
