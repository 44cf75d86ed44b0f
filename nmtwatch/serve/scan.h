/* scan: which JVMs have come since the last scan, without looking at every process each time.
 *
 *   scan_create -> scan_begin -> scan_step until it says done, every few seconds -> scan_destroy
 *
 * The problem: to know a JVM its maps have to be read, which takes up to a millisecond; a host has
 * hundreds of processes and 200 JVMs, and there is a scan every five seconds. So a process is
 * looked at closely while it is young (a shell becomes java by exec; the launcher maps libjvm.so a
 * moment later), when its executable changes, and every few minutes (a program may load a JVM
 * late). The rest is remembered by pid and executable: two system calls. A JVM that is watched is
 * not looked at at all: its watcher sees it end.
 *
 * A step reads the maps of SCAN_STEP processes at most and for SCAN_STEP_US, so that 200 JVMs that
 * start together do not hold up those that are watched. Users take turns, one process each, and
 * each has a budget of time for a scan: a user with thousands of processes that are slow to examine
 * waits for the next scan with the rest of them; other users do not. One thread.
 */
#pragma once

#include "nmtwatch/jvm/target.h"

#define SCAN_STEP    16
#define SCAN_STEP_US 10000

struct scan;

enum scan_answer {
    SCAN_TAKEN,   /* watched: not looked at again before scan_forget */
    SCAN_REFUSED, /* not to be watched: likewise, until its executable changes */
    SCAN_FULL,    /* no room: likewise, until scan_forget_full */
    SCAN_LATER,   /* ask again at the next scan */
};
/* A JVM that is not known yet. SCAN_TAKEN: the target is the callee's. */
typedef enum scan_answer scan_found_fn(void *context, const struct target *target);

struct scan *scan_create(void);
/* Wall time for the processes of one user in each scan. */
void scan_set_user_budget(struct scan *scan, int64_t ms);
/* A new scan; without effect while one is under way. */
void scan_begin(struct scan *scan, int64_t now_ms);
/* True when the scan is done. */
bool scan_step(struct scan *scan, int64_t now_ms, scan_found_fn *found, void *context);
/* The process that was taken has ended. */
void scan_forget(struct scan *scan, pid_t pid);
/* The rules have changed: all that were refused are shown again. */
void scan_forget_refused(struct scan *scan);
/* There is room again. */
void scan_forget_full(struct scan *scan);

struct scan_counts {
    int processes;
    int unreadable;    /* processes whose maps we may not read */
    int held;          /* ... that do not let a reader go, and may be JVMs */
    int refused;       /* JVMs */
    int full;          /* JVMs */
    int64_t postponed; /* processes whose user had used up his time, in all */
    int64_t scans;
    int64_t cpu_us; /* in all */
};
struct scan_counts scan_counts(const struct scan *scan);
void scan_destroy(struct scan *scan);
