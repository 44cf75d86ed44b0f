/*
 * user_map: whether a process has numbers for its own user and group in its user namespace.
 *
 * HotSpot gives its attach socket to itself, which the kernel refuses where its ids have no number
 * (a user namespace without a mapping): such a JVM can never be attached to, and better is not
 * signalled. Setup context; any thread.
 */
#ifndef NMTWATCH_JVM_USER_MAP_H
#define NMTWATCH_JVM_USER_MAP_H

#include "analyzers/parse/span.h"

#include <stdbool.h>
#include <sys/types.h>

/* True also when it cannot be read. uid, gid as they are here. */
bool user_map_has(pid_t pid, uid_t uid, gid_t gid);
/* Whether a line of the text of uid_map or gid_map, "inside outside count", holds the outside id.
 */
bool user_map_covers(struct span text, int64_t id);

#endif
