/* as_target: file access with the rights of a target's user, for a moment.
 *
 *   as_target_begin -> open, mkdirat, unlinkat ... -> as_target_end
 *
 * Root follows a stranger's links and mounts wherever they lead. Between begin and end the calling
 * thread has the file system ids of the target, no supplementary groups and none of the
 * capabilities that overrule file modes: what it opens, creates or removes is what the target's
 * user could have opened, created or removed. A new file belongs to the target from its first
 * moment on; nothing has to be given away. The real and effective ids stay ours, so the target can
 * neither signal nor trace this process. Only the calling thread changes (raw system calls). Keep
 * the time in between short, and do nothing else in it.
 *
 * Needs CAP_SETUID and CAP_SETGID where the ids differ: as_target_possible. The user id of this process
 * says nothing about that: root may be without them in a container, and an ordinary user of a unit may have
 * them (AmbientCapabilities=). No other place asks whether we are root in order to know what we may do. Any
 * thread; not in a signal handler.
 */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/types.h>

/* Whether this capability (CAP_SETUID ...) is in our effective set. */
bool as_target_has(int capability);
/* Whether we are that user, or may become it. */
bool as_target_possible(uid_t uid, gid_t gid);

struct as_target {
    bool changed;
    uid_t uid; /* ours, to go back to */
    gid_t gid;
    int dumpable, group_count;
    gid_t *groups;
    struct __user_cap_data_struct capabilities[2];
};

/* False with errno, and nothing changed: EPERM (a capability is missing), EINVAL (these ids have no
 * number in our user namespace), ENOMEM. True without a change where we are that user already and
 * may do no more. */
bool as_target_begin(struct as_target *self, uid_t uid, gid_t gid);
/* Keeps errno. */
void as_target_end(struct as_target *self);

/* For a child process: takes these ids for good, with no groups and no capabilities; the bounding set
 * is emptied, too, where we have CAP_SETPCAP. Root that stays root keeps its own. False with errno. */
bool as_target_for_good(uid_t uid, gid_t gid);

/* For a child process, for good: of its capabilities these alone stay, as far as it has them, and exec gains
 * nothing. False with errno. */
bool as_target_keep(const int *capabilities, int count);
