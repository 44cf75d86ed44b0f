/*
 * sampler: what a signal does: from the interrupted thread to an encoded event in a buffer.
 *
 * The profiler fills this struct before the first timer runs and clears it after the last one has
 * stopped; in between handlers read it and count in it. sampler_sample is signal context and lives
 * in sampler.c alone; what it may call is held by tests/agent/signal_symbols.txt.
 * Stacks taken in callbacks of the JVM: sampler_here.h.
 *
 * A chunk ends like this: the tables rotate (which waits until no handler is inside the old one),
 * the buffers are flushed, the old table is written out. Events of handlers that came in between
 * are flushed too; their stacks lie in the new table, so that one is peeked at as well.
 */
#ifndef AGENT_CONTROL_SAMPLER_H
#define AGENT_CONTROL_SAMPLER_H

#include "agent/buffer/recording_buffers.h"
#include "agent/buffer/thread_id_tables.h"
#include "agent/calltrace/calltrace.h"
#include "agent/stack/engine.h"

#include <stdatomic.h>

struct sampler {
    const struct stack_engine *engine;
    bool native;
    int depth;
    int tag_count;
    struct calltrace_storage *traces;
    struct recording_buffers *buffers;
    struct thread_id_tables *thread_ids;
    struct frame *scratch; /* RECORDING_BUFFERS x depth */

    _Atomic int64_t samples; /* = every outcome below, added up */
    _Atomic int64_t stored;
    _Atomic int64_t dropped_slots;
    _Atomic int64_t dropped_buffers;
    _Atomic int64_t without_trace; /* of stored: the stack found no room */
    _Atomic int64_t torn_contexts;
    _Atomic int64_t walks[WALK_CODE_COUNT];
};

/* Signal context; errno is saved by the caller. context: the sampler. */
void sampler_sample(void *context, int tid, JNIEnv *env, void *ucontext);

#endif
