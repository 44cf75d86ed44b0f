/* accountable: the user whose bounds a process counts against. A user may have ids of other numbers: those of a range
 * in /etc/subuid (rootless containers), and those of a user namespace that a range was mapped into. What bounds users
 * (targets, replies, discovery, connects) counts them all as that user's. Ranges of root stand for users of their own:
 * its containers are not one.
 *
 * /etc/subuid is that of the host where it can be reached, and is read again when it has changed. One thread. */
#pragma once

#include "floor/base/span.h"

#include <stdbool.h>
#include <sys/types.h>

/* uid: that of the process; the answer where there is no other. */
uid_t accountable_uid(pid_t pid, uid_t uid);

/* The range of /etc/subuid's text that an id is in: its owner, a name or a number, as a part of the text, and its first
 * id. False: in none. */
bool subordinate_range(struct span text, uid_t uid, struct span *owner, uid_t *first);
