/*
 * agct: what the setup (agct.c) and the signal handler (agct_walk.c) share of the engine that asks
 * AsyncGetCallTrace. HotSpot declares that function in no header; this is its shape in JDK 8 to 25:
 *
 *   ASGCT_CallFrame   0 +--------+--------+ 8 +----------------+ 16     struct frame   0 value
 *                       | lineno | (pad)  |   | method_id      |                       8 bci, pad
 *                       +--------+--------+   +----------------+
 *
 * lineno is a bytecode index, or -3 in a native method. Internal to agent/stack.
 */
#ifndef AGENT_STACK_AGCT_H
#define AGENT_STACK_AGCT_H

#include "agent/stack/engine.h"

#include <stdatomic.h>

struct agct_frame {
    jint lineno;
    jmethodID method_id;
};
_Static_assert(sizeof(struct agct_frame) == sizeof(struct frame), "converted in place");

struct agct_trace {
    JNIEnv *env;
    jint num_frames; /* or a code <= 0 */
    struct agct_frame *frames;
};

typedef void agct_fn(struct agct_trace *trace, jint depth, void *ucontext);
extern agct_fn *agct_function;
extern _Atomic int64_t agct_unnamed_frames;

int agct_walk(JNIEnv *env, void *ucontext, struct frame *out, int max, enum walk_code *code);

#endif
