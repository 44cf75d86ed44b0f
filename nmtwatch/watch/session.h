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

/*
 * watch_output: what a session prints: the live table, plain lines, or JSON lines. One thread.
 */
struct watch_output {
    enum session_output kind;
    struct terminal terminal;
    struct json_out json;
    int table_lines; /* of the table on the screen now */
};

void watch_output_begin(struct watch_output *output, enum session_output kind, bool colour);
void watch_output_event(struct watch_output *output, const struct watcher *watcher,
                        const struct event *event);
void watch_output_alert(struct watch_output *output, const struct watcher *watcher,
                        const struct alert *alert);
/* Draws the table again; nothing in the other kinds. */
void watch_output_table(struct watch_output *output, const struct watching *watching,
                        int64_t now_ms);
/* A line about the session itself, on stderr. */
void watch_output_say(struct watch_output *output, const char *text);
void watch_output_end(struct watch_output *output, int64_t ms, const struct watch_cost *cost);

#endif
