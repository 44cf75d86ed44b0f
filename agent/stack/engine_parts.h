/*
 * engine_parts: what the setup (engine.c) and the signal handler (engine_signal.c)
 * of the two engines share. Internal to agent/stack.
 */
#pragma once

#include "agent/methods/seen_methods.h"
#include "agent/stack/engine.h"

#include <stdatomic.h>

/*
 * Engine agct: HotSpot declares AsyncGetCallTrace in no header; this is its shape in JDK 8 to 25:
 *
 *   ASGCT_CallFrame   0 +--------+--------+ 8 +----------------+ 16     struct frame   0 value
 *                       | lineno | (pad)  |   | method_id      |                       8 bci, pad
 *                       +--------+--------+   +----------------+
 *
 * lineno is a bytecode index, or -3 in a native method.
 */
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

/* Engine vm. Where a frame's method gets its number. NULL: frames have none (SEEN_UNKNOWN). */
extern struct seen_methods *_Atomic engine_vm_seen;

int engine_vm_walk(JNIEnv *env, void *ucontext, struct frame *out, int max, enum walk_code *code);
enum thread_state engine_vm_state(JNIEnv *env, void *ucontext);
/* Callbacks of the JVM. */
int engine_vm_walk_here(JNIEnv *env, struct frame *out, int max, enum walk_code *code);
