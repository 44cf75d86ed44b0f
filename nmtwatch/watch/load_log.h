/* load_log: the class-load log of a running JVM, switched on for some seconds (JDK 9 and later).
 *
 * `VM.log` over attach makes the target write its class loads and unloads to a file in its own
 * temporary folder: no safepoint, no class list, and it shows what is loaded *now*. Logging that was
 * switched on must be switched off again in every case:
 *   - the JVM itself bounds the file (one rotation at LOAD_LOG_FILE_BYTES);
 *   - a guard, a small child process, switches it off when the watcher dies or LOAD_LOG_GUARD_S
 *     passes, and tries again as long as the JVM is stopped;
 *   - the names of the files show a later run what was left behind (load_log_origin).
 *
 *   load_log_prepare -> (ask load_log_on_command) -> load_log_opened -> load_log_read ...
 *                    -> (ask load_log_off_command) -> load_log_closed
 *
 * The file belongs to the target and is data from a possibly hostile process: opened by
 * rooted_read, must be a regular file of the target's user, read with a bound per call, and removed
 * with the rights of that user. One thread. */
#pragma once

#include "analyzers/classes/census.h"
#include "nmtwatch/jvm/target.h"

#define LOAD_LOG_FIRST_JDK  9
#define LOAD_LOG_FILE_BYTES (32 << 20)
#define LOAD_LOG_GUARD_S    120
#define LOAD_LOG_LEFTOVER_S 150 /* older than any guard */

struct load_log {
    char file[96];  /* as the target sees it */
    char path[288]; /* below the target's root, its /tmp without links */
    struct target target;
    int fd; /* -1: not open */
    int folder_fd; /* where the log is: the way by /proc/PID/root ends with the JVM; -1: a helper's guard has it */
    int guard_pipe; /* a byte, then closing it: the guard has nothing to do */
    pid_t guard_pid;
    char *carry; /* an incomplete last line */
    size_t carry_len;
    int64_t bytes;      /* read so far */
    int64_t lost_bytes; /* skipped: lines longer than the buffer */
};

/* Chooses a file name and starts the guard. 0, or -1 with errno. */
int load_log_prepare(struct load_log *load_log, const struct target *target);
void load_log_on_command(const struct load_log *load_log, char *out, size_t size);
void load_log_off_command(const struct load_log *load_log, char *out, size_t size);
/* After the JVM said yes: opens the file. 0, or -1 with errno. */
int load_log_opened(struct load_log *load_log);
/* Feeds what was written since to the census; at most LOAD_LOG_READ_MAX bytes a call. Returns
 * the bytes read, 0 when there is nothing new, -1 with errno. */
int64_t load_log_read(struct load_log *load_log, struct census *census);
/* The log is off (or the target gone): removes the file, lets the guard go (which removes it, too, for a process that
 * may not). off false: it could not
 * be switched off, and the guard is left to try it. */
void load_log_closed(struct load_log *load_log, bool off);

/* What the name of a log's file shows. */
enum load_log_origin {
    LOAD_LOG_FOREIGN,
    LOAD_LOG_IN_USE,   /* of a run that may be at work now */
    LOAD_LOG_LEFTOVER, /* older than any guard: its run was killed together with its guard */
};
enum load_log_origin load_log_origin(struct span file);
/* For a worker: file is a name as load_log_prepare makes it, for this target. load_log_guard returns the pipe to a new
 * guard, -1 with errno; load_log_open opens the log, false with errno; load_log_next reads what comes next, over its
 * rotation: bytes, 0 when there is nothing new, -1 with errno. */
bool load_log_name_is_for(const struct target *target, const char *file);
int load_log_guard(const struct target *target, const char *file, pid_t *guard_pid);
bool load_log_open(struct load_log *load_log, const struct target *target, const char *file);
ssize_t load_log_next(struct load_log *load_log, void *bytes, size_t size);
void load_log_remove_leftover(const struct target *target, const char *file);
