/*
 * session: `watch` and `record`: JVMs under watch (watching.h), printed, recorded, notified of; until
 * the deadline, SIGINT or SIGTERM, or until every target is gone. One per process (signals).
 */
#ifndef NMTWATCH_WATCH_SESSION_H
#define NMTWATCH_WATCH_SESSION_H

#include "nmtwatch/watch/watcher.h"
#include "nmtwatch/watch/watching.h"
#include "reports/watch/watch_view.h"

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

#endif
