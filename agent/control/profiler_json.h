/*
 * profiler_json: status and memory of the profiler as JSON objects (docs/json.md).
 *
 * Commands' thread; the counters are read while handlers count.
 */
#ifndef AGENT_CONTROL_PROFILER_JSON_H
#define AGENT_CONTROL_PROFILER_JSON_H

#include "agent/control/recording.h"
#include "agent/json/json.h"

struct profiler_view {
    bool running;
    const char *file;
    const char *native_missing;
    const char *engine_fallback; /* "": it is the engine wanted */
    const struct threads *threads;
    struct recording *recording;           /* NULL when not running */
    const struct recording_counts *counts; /* of this recording, or of the last one */
    const struct jmethod_ids *ids;
    struct class_definitions *classes; /* NULL when not running */
    struct live_objects *live;         /* NULL: not asked for */
    struct alloc_profile *allocs;      /* NULL: not asked for */
    int jdk_major;
    int64_t rss_before_bytes;
    int64_t baseline_ns; /* 0: there is none */
    bool sites;          /* of the account: wanted */
};

void profiler_json_status(const struct profiler_view *view, struct json *json, const char *name);
void profiler_json_memory(const struct profiler_view *view, struct json *json);
/* Resident memory of the process, from /proc/self/statm; 0 when it cannot be read. */
int64_t profiler_json_rss(void);

#endif
