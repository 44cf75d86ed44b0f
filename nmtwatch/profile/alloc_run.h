/*
 * alloc_run: samples the allocations of one JVM or of several for a while, and says what they
 * were.
 *
 * Loads the agent, starts it with allocations alone, waits, stops it. Where a profiler runs already
 * it is left alone, and that is an error. It ends early on SIGINT or SIGTERM, and when the targets
 * end; with alloc_run_matching JVMs that start meanwhile are taken, too, until the end. While it runs the
 * recordings lie in private folders in the targets' /tmp.
 */
#ifndef NMTWATCH_PROFILE_ALLOC_RUN_H
#define NMTWATCH_PROFILE_ALLOC_RUN_H

#include "nmtwatch/profile/agent_call.h"
#include "nmtwatch/profile/one_shot.h"
#include "nmtwatch/profile/start_options.h"
#include "nmtwatch/jvm/target.h"

#define ALLOC_INTERVAL_DEFAULT "512K"

struct alloc_run {
    int64_t duration_ms;
    const char *output; /* NULL: none; "%p" in it is the pid */
    const char *library;
    const struct start_options *start; /* alloc and cpu are given */
    bool json;
};

#define ALLOC_TARGETS_MAX 1024

/* The exit code: that of a start or an answer that failed. An error is one line on stderr. */
int alloc_run(const struct alloc_run *run, const struct target *target);
/* The same for all JVMs that are wanted. look is called five times a second, and takes each of them
 * once; the target is taken over. The exit code of the last one that failed; -1: there was none. */
struct alloc_group;
typedef void alloc_scan_fn(void *context, struct alloc_group *group);
int alloc_run_matching(const struct alloc_run *run, alloc_scan_fn *look, void *context);
/* again: it may be too young to answer. False: it is, and stays the caller's. */
bool alloc_take(struct alloc_group *group, const struct target *target, bool again);
/* The table of a profiler that runs already. */
int alloc_run_ask(const struct target *target, const char *library, bool json);

#endif
