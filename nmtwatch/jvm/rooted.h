/*
 * rooted: paths in the root of a target, which may be a container or a chroot: from here to there
 * and back.
 *
 * "/proc/PID/root/tmp" is not enough. Where the target's /tmp is a link to /data/tmp the kernel
 * would follow it from *our* root, to a folder of the host; and whoever owns the container could
 * make it such a link between two looks of ours. rooted_open has the kernel resolve the path inside
 * the target's root (openat2, Linux 5.6): links lead where they lead the target, and never out.
 *
 * root is the target's field of that name: "/proc/PID/root", or "" when it shares ours.
 * Any thread.
 */
#ifndef NMTWATCH_JVM_ROOTED_H
#define NMTWATCH_JVM_ROOTED_H

#include <stdbool.h>
#include <stddef.h>

/* A descriptor of the absolute path as the target names it, or -1 with errno. O_CLOEXEC is added.
 * Without openat2 (an older kernel, a seccomp filter) only a path of one component can be opened,
 * and not when it is a link. */
int rooted_open(const char *root, const char *path, int flags);

/* What the target calls the path that the kernel shows here (/proc/PID/maps, /proc/self/fd/N): the
 * same in a container; in a chroot without the way to its root. */
const char *rooted_inner(const char *root, const char *path);

/* The target's folder (as it names it) without any links, as it names it. False with errno. */
bool rooted_real(const char *root, const char *path, char *real, size_t size);

#endif
