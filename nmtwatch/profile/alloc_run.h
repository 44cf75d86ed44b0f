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
#include "nmtwatch/profile/one_shot.h"
#include "nmtwatch/profile/start_options.h"
#include "nmtwatch/jvm/target.h"

#include <stddef.h>

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

/*
 * match_rules: which of the JVMs of a host are meant.
 *
 *   main=org.example.*,cgroup=/system.slice/shop*;pid=4711
 *
 * Rules are separated by ';' and one of them has to fit; the terms of a rule are separated by ','
 * and all of them have to. main: the main class or jar, cgroup: any of its control groups, both as
 * patterns of the shell (*, ?, [...]; '*' takes '/' as well). pid: exactly.
 *
 * Pure, but for match_rules_fit, which reads /proc/PID/cgroup when a rule asks for it.
 */

#define MATCH_TERMS_MAX 32

struct match_rules {
    int count;
    struct match_term {
        enum { MATCH_MAIN, MATCH_CGROUP, MATCH_PID } key;
        bool first; /* of its rule */
        pid_t pid;
        char pattern[256];
    } term[MATCH_TERMS_MAX];
};

/* False with one sentence. */
bool match_rules_parse(struct match_rules *rules, const char *text, char *error, size_t error_size);
/* cgroup: as in /proc/PID/cgroup: lines of "number:controllers:path". */
bool match_rules_fit_text(const struct match_rules *rules, pid_t pid, const char *main,
                          const char *cgroup);
bool match_rules_fit(const struct match_rules *rules, const struct target *target);

#endif
