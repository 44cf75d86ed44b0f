/*
 * alloc_run: samples the allocations of one JVM or of several for a while, and tells what they
 * were.
 *
 * Loads the agent, starts it with allocations alone, waits, stops it. Where a profiler runs already
 * it is left alone, and that is an error. It ends early on SIGINT or SIGTERM, and when the targets
 * end. While it runs the recordings lie in private folders in the targets' /tmp.
 */
#ifndef NMTWATCH_PROFILE_ALLOC_RUN_H
#define NMTWATCH_PROFILE_ALLOC_RUN_H

#include "nmtwatch/profile/agent_call.h"
#include "nmtwatch/profile/profile_output.h"
#include "nmtwatch/profile/start_options.h"

#define ALLOC_INTERVAL_DEFAULT "512K"

struct alloc_run {
    int64_t duration_ms;
    const char *output; /* NULL: none; "%p" in it is the pid */
    const char *library;
    const struct start_options *start; /* alloc and cpu are given */
    bool json;
};

/* The exit code: of several JVMs that of the last one that failed. What went wrong is a line each
 * on stderr. */
int alloc_run(const struct alloc_run *run, const struct target *targets, size_t count);
/* The table of a profiler that runs already. */
int alloc_run_ask(const struct target *target, const char *library, bool json);

#endif
