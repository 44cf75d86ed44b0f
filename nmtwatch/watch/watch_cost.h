/*
 * watch_cost: what the watching itself costs, for the last line of a recording and the end of a
 * watch: the same figures for watch, record and soak.
 *
 *   watch_cost_event (each event) -> watch_cost_watcher (each watcher, at the end)
 *                                 -> watch_cost_process (at the end)
 *
 * One thread.
 */
#ifndef NMTWATCH_WATCH_WATCH_COST_H
#define NMTWATCH_WATCH_WATCH_COST_H

#include "nmtwatch/watch/watcher.h"
#include "reports/json/event_json.h"

/* Counts the commands that stopped a JVM, or would have. */
void watch_cost_event(struct watch_cost *cost, const struct event *event);
/* Adds its polls and pauses. */
void watch_cost_watcher(struct watch_cost *cost, const struct watcher *watcher);
/* CPU time and resident memory of this process. */
void watch_cost_process(struct watch_cost *cost);

int64_t watch_cost_cpu_us(void);
/* 0: not known. */
int64_t watch_cost_rss_bytes(void);

#endif
