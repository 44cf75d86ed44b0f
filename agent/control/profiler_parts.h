/*
 * profiler_parts: what the profiler is made of, shared by its life (profiler.c) and its JVMTI
 * events (profiler_events.c). Nobody else includes it.
 *
 * Parts are NULL while they are not there; callbacks see them only inside the door.
 */
#ifndef AGENT_CONTROL_PROFILER_PARTS_H
#define AGENT_CONTROL_PROFILER_PARTS_H

#include "agent/alloc/alloc_profile.h"
#include "agent/control/door.h"
#include "agent/control/profiler.h"
#include "agent/control/recording.h"

struct profiler {
    int64_t rss_before_bytes; /* of the process, when the agent was loaded */
    int64_t baseline_ns;      /* when the account was remembered; 0: never */
    JavaVM *vm;
    jvmtiEnv *jvmti;
    profiler_stop_later_fn *stop_later;
    int jdk_major;
    char jvm_version[128];
    bool running;
    char file[AGENT_TEXT_MAX];
    char native_missing[160];          /* why there are no native frames */
    char engine_fallback[240];         /* why it is not the engine one would have liked best */
    const struct stack_engine *engine; /* set up; NULL: none */
    struct threads *threads;
    struct jmethod_ids *ids;
    struct class_definitions *classes;
    struct live_objects *live;    /* NULL: not asked for */
    struct alloc_profile *allocs; /* NULL: not asked for */
    struct recording *recording;
    struct recording_counts last; /* of the recording that ended */
    struct drain *drain;
    struct door door;
};
extern struct profiler profiler;

#endif
