/*
 * timed: waits while an agent works, for those verbs that start it, wait and stop it.
 *
 * Ends early on SIGINT, SIGTERM and SIGHUP (signals_catch: a stop is owed), and when every target has ended. On a terminal a line
 * on standard error tells how long it still takes. One thread, once a process.
 */
#ifndef NMTWATCH_PROFILE_TIMED_H
#define NMTWATCH_PROFILE_TIMED_H

#include "nmtwatch/jvm/target.h"

#include <stddef.h>

/* what: "profiling", "sampling allocations of". */
void timed_wait(const char *what, const struct target *const *targets, size_t count,
                int64_t duration_ms);

#endif
