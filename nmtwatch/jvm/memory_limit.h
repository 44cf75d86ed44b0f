/*
 * memory_limit: how much memory the control group of a process may take.
 *
 * The smallest limit on the way up from its group counts: version 2 (memory.max) and version 1
 * (memory.limit_in_bytes). The path in /proc/PID/cgroup is as our own namespace of control groups
 * sees it. Setup context; any thread.
 */
#ifndef NMTWATCH_JVM_MEMORY_LIMIT_H
#define NMTWATCH_JVM_MEMORY_LIMIT_H

#include "analyzers/parse/span.h"

#include <stdint.h>
#include <sys/types.h>

/* Bytes, -1: none, or it cannot be read. */
int64_t memory_limit(pid_t pid);
/* The same for the text of a cgroup file and another folder than /sys/fs/cgroup, for tests. */
int64_t memory_limit_of(struct span cgroup, const char *folder);

#endif
