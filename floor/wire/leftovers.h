/*
 * leftovers: files of the agent that a JVM left behind when it was killed: /tmp/.nmtagent_PID
 * (wire_formats.h) and the unfinished chunk of a recording in /tmp, NAME.chunk.
 *
 * The agent holds a lock (flock) on both while they are in use, which the kernel takes away when
 * the process ends, in whatever pid namespace it was. So a file is a leftover when its content is
 * the agent's and its lock is free. An unfinished chunk has events only: what names them is
 * written at its end, so nothing can be read out of it. A finished one that was not joined to its
 * recording yet begins as every JFR file does, and stays. A file without a lock (a file system that
 * cannot lock, an agent of another version) stays as well.
 *
 * Compiled into the agent, which looks when it starts, and into nmtwatch (jvm/agent_files).
 * Whoever removes: opens what leftovers_each shows, asks leftover_is_dead, unlinks.
 */
#pragma once

#include <stdbool.h>

#define LEFTOVERS_NAMES_MAX 8192 /* names of a folder that are looked at: 3 ms */
#define LEFTOVERS_FILES_MAX 256  /* files that are opened */

/* Shows each name that may be one. True: one was removed. Returns how many were. */
typedef bool leftovers_visit_fn(void *context, int folder_fd, const char *name);
int leftovers_each(int folder_fd, leftovers_visit_fn *visit, void *context);
/* fd: open for reading. True: it is one, is what the name stands for, and is locked by fd now. */
bool leftover_is_dead(int fd, int folder_fd, const char *name);
/* This user's, in a folder of this process's. */
int leftovers_remove_own(const char *folder);
