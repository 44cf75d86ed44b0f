/*
 * pressure: how far the CPUs are wanted by more threads than they can run, for pause predictions.
 *
 * Read from /proc/loadavg, /proc/pressure/cpu and, of the target's container (cgroup v2),
 * cpu.pressure and cpu.max. What cannot be read counts as no pressure. A reading is five small
 * files of the kernel, some 50 us; the caller decides how often. Any thread.
 */
#ifndef NMTWATCH_WATCH_PRESSURE_H
#define NMTWATCH_WATCH_PRESSURE_H

#include "nmtwatch/watch/pause_budget.h"

#include <stddef.h>
#include <sys/types.h>

/* root: "" for this machine, a folder with proc/ and sys/ in a test. */
void pressure_read(const char *root, pid_t pid, struct pause_pressure *pressure);
/* "21.0 runnable threads for each core, CPU pressure 97 %" */
void pressure_words(const struct pause_pressure *pressure, char *out, size_t size);

#endif
