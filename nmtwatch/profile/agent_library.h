/*
 * agent_library: which libnmtagent.so a target gets.
 *
 * One that it has loaded already stays the one: the same library under two paths would be two
 * agents. Else the file beside this program, or the one that was named: here, or in the target's
 * own root, where an image may bring it along. In a container it is asked first whether the file is
 * visible there; only if not it gets a copy. Setup context.
 */
#ifndef NMTWATCH_PROFILE_AGENT_LIBRARY_H
#define NMTWATCH_PROFILE_AGENT_LIBRARY_H

#include "nmtwatch/jvm/target.h"

#define AGENT_LIBRARY "libnmtagent.so"

enum agent_loaded { AGENT_LOADED, AGENT_NOT_LOADED, AGENT_LOADED_UNKNOWN };

/* The one that was named (or NULL) if it is mapped, else the one that answers, where it says which
 * that is, else the first of that name. path: as the target names it; it may have been deleted
 * since, which does no harm. */
enum agent_loaded agent_library_loaded(const struct target *target, const char *named, char *path,
                                       size_t size);
/* Absolute path of the library here. named may be NULL: then it is the one beside this program, if only root
 * and the caller can change it: the file, its folder and those above belong to them and are not writable for
 * others. False with a sentence. */
bool agent_library_find(const char *named, char *path, size_t size, char *error, size_t error_size);
/* The library of this path for reading, or -1 with errno (EPERM: not a regular file). */
int agent_library_read(const char *path);
/* Whether the target's root has a library of that name (absolute) that its user may read. False
 * with errno; ENOENT also when that root is ours. */
bool agent_library_inside(const struct target *target, const char *named);
/* What keeps it from the target: FAILURE_NONE; FAILURE_OTHER_MACHINE, with both architectures in detail; or
 * FAILURE_AGENT_LIBC, because glibc's cannot be loaded beside musl, nor the other way round. path as we reach
 * it, or inside: as the target does. None when in doubt. */
enum failure_kind agent_library_obstacle(const struct target *target, const char *path, bool inside,
                                         char *detail, size_t size);
/* Whether the target can open this path of ours: the same root, and readable for its user, or the
 * same file in another root. False when in doubt: it gets a copy then. */
bool agent_library_reachable(const struct target *target, const char *path);

#endif
