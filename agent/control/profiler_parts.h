/*
 * profiler_parts: what the profiler is made of, shared by its life (profiler.c), its JVMTI
 * events (profiler_events.c) and its answers (profiler_json.c). No other file includes it.
 *
 * Parts are NULL while they are not there; callbacks see them only inside the gate.
 */
#pragma once

#include "agent/alloc/alloc_profile.h"
#include "agent/control/profiler.h"
#include "agent/control/recording.h"

#include <stdatomic.h>
#include <unistd.h>

/* Switching a JVMTI event off does not stop a callback that is under way: callbacks enter by the
 * gate; it is closed, and those inside have left, before the parts are taken down. enter, leave:
 * any thread. open, close: one at a time. */
struct callback_gate {
    _Atomic bool open;
    _Atomic int inside;
};

/* False: it is closed; there is nothing to leave then. */
static inline bool callback_enter(struct callback_gate *gate)
{
    /* Sequentially consistent: pairs with callbacks_close, which stores and then reads the other
     * way round; one of the two sees the other. */
    atomic_fetch_add(&gate->inside, 1);
    if (atomic_load(&gate->open))
        return true;
    atomic_fetch_sub(&gate->inside, 1);
    return false;
}

static inline void callback_leave(struct callback_gate *gate)
{
    atomic_fetch_sub(&gate->inside, 1);
}

static inline void callbacks_open(struct callback_gate *gate)
{
    atomic_store(&gate->open, true);
}

/* Waits until no callback is inside. */
static inline void callbacks_close(struct callback_gate *gate)
{
    atomic_store(&gate->open, false);
    while (atomic_load(&gate->inside) != 0)
        usleep(100);
}

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
    bool without_ids; /* engine agct, started without signals: nothing can be walked */
    int64_t interval_changes;
    struct callback_gate gate;
};
extern struct profiler profiler;

/* Resident memory of the process, from /proc/self/statm; 0 when it cannot be read. */
int64_t profiler_rss(void);
