/*
 * pid_path: a file's name for each JVM: every "%p" of a pattern becomes the process id. Any thread.
 */
#ifndef NMTWATCH_PID_PATH_H
#define NMTWATCH_PID_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* False: too long. */
bool pid_path(const char *pattern, pid_t pid, char *out, size_t size);
/* There is a "%p" in it. */
bool pid_path_is_pattern(const char *pattern);

#endif
