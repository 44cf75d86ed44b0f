/*
 * watch_output: what a session prints: the live table, plain lines, or JSON lines. One thread.
 */
#ifndef NMTWATCH_WATCH_WATCH_OUTPUT_H
#define NMTWATCH_WATCH_WATCH_OUTPUT_H

#include "nmtwatch/watch/session.h"
#include "nmtwatch/watch/watching.h"
#include "reports/watch/watch_view.h"

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
