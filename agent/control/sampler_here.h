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
#ifndef AGENT_CONTROL_SAMPLER_HERE_H
#define AGENT_CONTROL_SAMPLER_HERE_H

#include "agent/control/sampler.h"

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

#endif
