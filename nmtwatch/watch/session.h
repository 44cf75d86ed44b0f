/* session: `watch` and `record`: JVMs under watch (watching.h), printed, recorded, notified of; until
 * the deadline, SIGINT or SIGTERM, or until every target is gone. One per process (signals). */
#pragma once

#include "nmtwatch/watch/watcher.h"
#include "nmtwatch/watch/watching.h"
#include "reports/watch/watch_view.h"
#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/target.h"

enum session_output {
    SESSION_TABLE, /* a live table, alerts above it: for a terminal */
    SESSION_LINES, /* a line per tick: for pipes */
    SESSION_JSON,  /* an object per line */
    SESSION_QUIET, /* alerts and notes only */
};

struct session_options {
    struct watch_options watch;
    int target_count;
    struct target *targets; /* owned by the caller, taken over one by one */
    bool all;               /* JVMs that appear later are watched too */
    int64_t for_ms;         /* 0: until interrupted */
    const char *record;     /* file, NULL: none; "%p" becomes the pid */
    bool record_force;
    const char *notify; /* command, NULL: none */
    bool stop_profiler; /* when Internal is beyond its last step */
    enum session_output output;
    bool colour;
};

/* The exit code. */
int session_run(struct session_options *options);

/* stop_profiler: the last resort of a watch, when it is asked for (--on-unacceptable): the profiler
 * in a JVM is asked to stop.
 *
 *   stop_profiler_begin -> stop_profiler_step ... until it is done -> stop_profiler_destroy
 *
 * libnmtagent.so is stopped through the attach operation, in a child process: the event loop never
 * blocks. Other profilers cannot be stopped from outside: they are named from the JVM's memory map
 * with what stops them. The outcome comes as sentences, of a failure too. One
 * thread. */
#define STOP_PROFILER_WAIT_MS 35000 /* longer than the call itself may take */

struct stop_profiler;

/* NULL with errno. */
struct stop_profiler *stop_profiler_begin(const struct target *target, int64_t now_ms);
/* True when it is done; each sentence has been passed on by then. */
typedef void stop_profiler_report_fn(void *context, const char *sentence);
bool stop_profiler_step(struct stop_profiler *stop, int64_t now_ms, stop_profiler_report_fn *report,
                        void *context);
/* A child that is still at work goes on and ends by itself. */
void stop_profiler_destroy(struct stop_profiler *stop);

/* Names of other profilers among what is mapped, a sentence each. */
void stop_profiler_others(struct proc_maps *maps, stop_profiler_report_fn *report, void *context);
