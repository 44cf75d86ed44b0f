/*
 * agent_library: which libnmtagent.so a target gets.
 *
 * One that it has loaded already stays the one: the same library under two paths would be two
 * agents. Else the file beside this program, or the one that was named. Setup context.
 */
#ifndef NMTWATCH_PROFILE_AGENT_LIBRARY_H
#define NMTWATCH_PROFILE_AGENT_LIBRARY_H

#include "nmtwatch/jvm/target.h"

#define AGENT_LIBRARY "libnmtagent.so"

enum agent_loaded { AGENT_LOADED, AGENT_NOT_LOADED, AGENT_LOADED_UNKNOWN };

/* path: as the target names it; it may have been deleted since, which does no harm. */
enum agent_loaded agent_library_loaded(const struct target *target, char *path, size_t size);
/* Absolute path of the library here. named may be NULL. False with a sentence. */
bool agent_library_find(const char *named, char *path, size_t size, char *error, size_t error_size);
/* Whether the target can open this path of ours: the same root, and readable for its user. False
 * when in doubt: it gets a copy then. */
bool agent_library_reachable(const struct target *target, const char *path);

#endif
