/* rooted: paths in the root of a target, which may be a container or a chroot: from here to there
 * and back.
 *
 * "/proc/PID/root/tmp" is not enough. Where the target's /tmp is a link to /data/tmp the kernel
 * would follow it from *our* root, to a folder of the host; and the container's owner could make it
 * such a link between two accesses of ours. rooted_open has the kernel resolve the path inside the
 * target's root (openat2, Linux 5.6): links lead where they lead the target, and never out.
 *
 * root is the target's field of that name: "/proc/PID/root", or "" when it shares ours.
 *
 * Every file that is read in a target's world goes through rooted_read: with the rights of the
 * target's user (as_target.h), so that a link shows nothing which that user may not see; first as a
 * place (O_PATH), which has no side effect on any file; only then, when it is a regular file of a
 * bounded size on no file system of the kernel's own (procfs, sysfs, ...), opened for reading,
 * without waiting and never as a terminal. What is written there goes through as_target.h too.
 * Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct target;

/* A descriptor of a folder, by the absolute path as the target names it, or -1 with errno. flags:
 * O_PATH or O_RDONLY; O_DIRECTORY, O_NOCTTY, O_NONBLOCK and O_CLOEXEC are added. Without openat2 (a
 * kernel before 5.6, a seccomp filter) a path that has a link or ".." in it is refused: ELOOP. */
int rooted_folder(const char *root, const char *path, int flags);

/* Further conditions on a file. */
enum rooted_how {
    ROOTED_LINKS = 0,   /* it may be reached through links, which lead where they lead the target */
    ROOTED_NO_LINK = 1, /* the last name is no link */
    ROOTED_OWN = 2,     /* it belongs to the target's user */
    ROOTED_SINGLE = 4,  /* it has one name only */
};
/* For reading, by the absolute path as the target names it. -1 with errno: EPERM (no regular file,
 * or not as asked), EFBIG (more than max_bytes), EACCES (not for the target's user), ELOOP. status
 * may be NULL. The caller closes it, and reads no more than status->st_size says. */
int rooted_read(const struct target *target, const char *path, unsigned how, int64_t max_bytes,
                struct stat *status);
/* The same of a name in a folder (no '/' in it), which must not be a link or a mount. */
int rooted_read_at(const struct target *target, int folder_fd, const char *name, unsigned how,
                   int64_t max_bytes, struct stat *status);
/* A folder that was just made, or nothing: -1 with errno (EXDEV: something was mounted over it).
 * The caller has the target's rights (as_target.h). */
int rooted_new_folder(int in_fd, const char *name);
/* What rooted_read does last: the file of an O_PATH descriptor (which it closes) opened for reading
 * if it is regular, of a bounded size and of no file system of the kernel's own. */
int rooted_reopen(int path_fd, int64_t max_bytes, struct stat *status);
/* The path below the target's root, of one that begins with it (target->tmp, target->perfdata). */
const char *rooted_below(const struct target *target, const char *path);

/* What the target calls the path that the kernel shows here (/proc/PID/maps, /proc/self/fd/N): the
 * same in a container; in a chroot without the way to its root. */
const char *rooted_inner(const char *root, const char *path);

/* The target's folder (as it names it) without any links, as it names it. False with errno. */
bool rooted_real(const char *root, const char *path, char *real, size_t size);
