/*
 * tap: the class-load log of a running JVM, switched on for some seconds (JDK 9 and later).
 *
 * `VM.log` over attach makes the target write its class loads and unloads to a file in its own
 * temporary folder: no safepoint, no class list, and it shows what is loaded *now*. What is
 * switched on must go off again, come what may:
 *   - the JVM itself bounds the file (one rotation at TAP_FILE_BYTES);
 *   - a guard, a small child process, switches it off when the watcher dies or TAP_GUARD_S passes,
 *     and tries again as long as the JVM is stopped;
 *   - the names of the files tell a later run what was left behind (tap_origin).
 *
 *   tap_prepare -> (ask tap_on_command) -> tap_opened -> tap_read ... -> (ask tap_off_command)
 *               -> tap_closed
 *
 * The file belongs to the target and is data from a possibly hostile process: opened by
 * rooted_read, must be a regular file of the target's user, read with a bound per call, and removed
 * with the rights of that user. One thread.
 */
#ifndef NMTWATCH_WATCH_TAP_H
#define NMTWATCH_WATCH_TAP_H

#include "analyzers/classes/census.h"
#include "nmtwatch/jvm/target.h"

#define TAP_FIRST_JDK  9
#define TAP_FILE_BYTES (32 << 20)
#define TAP_GUARD_S    120
#define TAP_LEFTOVER_S 150 /* older than any guard */

struct tap {
    char file[96];  /* as the target sees it */
    char path[288]; /* below the target's root, its /tmp without links */
    struct target target;
    int fd;         /* -1: not open */
    int guard_pipe; /* closing it with a byte before tells the guard that all is well */
    pid_t guard_pid;
    char *carry; /* an incomplete last line */
    size_t carry_len;
    int64_t bytes;      /* read so far */
    int64_t lost_bytes; /* skipped: lines longer than the buffer */
};

/* Chooses a file name and starts the guard. 0, or -1 with errno. */
int tap_prepare(struct tap *tap, const struct target *target);
void tap_on_command(const struct tap *tap, char *out, size_t size);
void tap_off_command(const struct tap *tap, char *out, size_t size);
/* After the JVM said yes: opens the file. 0, or -1 with errno. */
int tap_opened(struct tap *tap);
/* Feeds what was written since to the census; at most TAP_READ_MAX bytes a call. Returns the bytes
 * read, 0 when there is nothing new, -1 with errno. */
int64_t tap_read(struct tap *tap, struct census *census);
/* The log is off (or the target gone): removes the file, lets the guard go. off false: it could not
 * be switched off, and the guard is left to try it. */
void tap_closed(struct tap *tap, bool off);

/* What the name of a log's file tells. */
enum tap_origin {
    TAP_FOREIGN,
    TAP_IN_USE,   /* of a run that may be at work now */
    TAP_LEFTOVER, /* older than any guard: its run was killed together with its guard */
};
enum tap_origin tap_origin(struct span file);
/* For the root helper of serve: file is a name as tap_prepare makes it, for this target. tap_guard
 * returns the pipe to a new guard, tap_log the log for reading; -1 with errno. */
bool tap_name_is_for(const struct target *target, const char *file);
int tap_guard(const struct target *target, const char *file, pid_t *guard_pid);
int tap_log(const struct target *target, const char *file);
void tap_remove_leftover(const struct target *target, const char *file);

#endif
