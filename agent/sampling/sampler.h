/*
 * sampler: what a signal does: from the interrupted thread to an encoded event in a buffer.
 *
 * The profiler fills this struct before the first timer runs and clears it after the last one has
 * stopped; in between handlers read it and count in it. sampler_sample is signal context and lives
 * in sampler.c alone; what it may call is held by tests/agent/signal_symbols.txt.
 * Stacks taken in callbacks of the JVM: sampler_here, below.
 *
 * A chunk ends like this: the tables rotate (which waits until no handler is inside the old one),
 * the buffers are flushed, the old table is written out. Events of handlers that came in between
 * are flushed too; their stacks lie in the new table, so that one is peeked at as well.
 */
#pragma once

#include "agent/buffer/recording_buffers.h"
#include "agent/buffer/thread_id_tables.h"
#include "agent/buffer/wakeup.h"
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

    struct wakeup wakeup;    /* of the drain thread */
    _Atomic int64_t here;    /* sampler_here_end */
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

/*
 * sampler_here: a stack outside of signals: in a callback of the JVM, that of the calling thread.
 *
 *   sampler_here_begin -> note here->trace, copy here->frames, encode into here->out
 *                      -> sampler_here_end
 *
 * In between the thread is inside a table of stacks and has a recording buffer: what is written
 * down under the stack's id by then is in the chunk that holds the stack. So be quick, and wait for
 * nothing. A signal may interrupt it at any instruction: it finds the buffer taken, and uses its
 * neighbour.
 *
 * The stack is walked from the last Java frame by the engine's walk_here, which creates no
 * jmethodID; an engine without one gives no stack (trace 0, depth 0), and GetStackTrace is not
 * asked in its place, because that would create them.
 *
 * Callbacks on Java threads.
 */
struct sampler_here {
    uint32_t trace; /* 0: no stack */
    int tid;
    const struct frame *frames; /* innermost first; until the end */
    int depth;
    bool truncated;
    uint8_t *out; /* room for one event of at most RECORDING_GUARD_BYTES */
    int slot, index;
};

/* stack: false: a thread and room for an event are all that is wanted. False: no slot or no buffer
 * was free; there is nothing to end then. */
bool sampler_here_begin(struct sampler *sampler, JNIEnv *env, bool stack,
                        struct sampler_here *here);
/* length: of the event in here->out; 0: none. */
void sampler_here_end(struct sampler *sampler, const struct sampler_here *here, size_t length);
