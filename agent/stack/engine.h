/*
 * engine: how a stack is walked in a signal handler; replaceable.
 *
 * agct  walks Java frames by the JVM's AsyncGetCallTrace and needs preallocated jmethodIDs.
 * vm    walks them by HotSpot's own structures (agent/hotspot) and needs none.
 *
 * Native frames above the first Java frame come from stack/native.h, for both.
 *
 * engine_setup: once, at start, may allocate. walk: signal context: no malloc, no lock, no stdio,
 * no JVMTI; errno is saved by the caller.
 */
#pragma once

#include "floor/hotspot/frame.h"

#include <jvmti.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct seen_methods;

struct stack_engine {
    const char *name;
    bool needs_method_ids; /* jmethodIDs must be preallocated */
    /* Of the stack a signal handler runs on, for a walk with its native frames. */
    size_t stack_bytes;
    /* Java frames since setup whose method has no jmethodID; NULL: this engine needs none. */
    const _Atomic int64_t *unnamed_frames;
    /* False with a sentence in error when this JVM cannot do it. */
    bool (*setup)(JavaVM *vm, jvmtiEnv *jvmti, char *error, size_t error_size);
    /* Back to what was before setup; NULL: nothing to do. No handler is inside any more. */
    void (*end)(void);
    /* Where the numbers of its frames come from (FRAME_SEEN), from now on; NULL: from nowhere any
     * more. NULL: this engine needs no such thing. No handler is inside. */
    void (*use_seen)(struct seen_methods *seen);
    /* Writes at most max frames, innermost first; returns how many, and *code (WALK_OK when the
     * Java part is complete). env: of this thread, NULL when it is no Java thread. */
    int (*walk)(JNIEnv *env, void *ucontext, struct frame *out, int max, enum walk_code *code);
    /* What the thread was doing; signal context. env: of this thread, not NULL. NULL: this engine
     * does not know (agct). */
    enum thread_state (*state)(JNIEnv *env, void *ucontext);
    /* The stack of the calling thread from its last Java frame: in JVMTI callbacks, where it is in
     * native code or the VM. Creates no jmethodID (vm); NULL: this engine cannot (agct). */
    int (*walk_here)(JNIEnv *env, struct frame *out, int max, enum walk_code *code);
};

extern const struct stack_engine engine_agct, engine_vm;

/* The engine of that name, set up; "auto": the first of vm and agct that this JVM can do, with the
 * reason in fallback when it is not the first. NULL with a sentence. Setup context. */
const struct stack_engine *engine_choose(const char *wanted, JavaVM *vm, jvmtiEnv *jvmti,
                                         char *fallback, size_t fallback_size, char *error,
                                         size_t error_size);

/* The two walks of engine vm without numbers: Method * as they are, for those who ask for names
 * themselves (asgst/). After setup. */
struct walked_frame;
int walk_interrupted(JNIEnv *env, void *ucontext, struct walked_frame *out, int max,
                     enum walk_code *code);
int walk_here(JNIEnv *env, struct walked_frame *out, int max, enum walk_code *code);

/*
 * How much of a stack a signal handler may still use.
 *
 * A thread that has set an alternate signal stack (sigaltstack) gave it some size, and below it
 * lies anything. Signal context; to be called in the handler, or in what it calls.
 */

/* Bytes below the caller's frame; SIZE_MAX: it runs on the thread's own stack. */
static inline size_t signal_stack_left(const void *ucontext)
{
    const stack_t *stack = &((const ucontext_t *)ucontext)->uc_stack;
    uintptr_t low = (uintptr_t)stack->ss_sp, here = (uintptr_t)__builtin_frame_address(0);
    if ((stack->ss_flags & SS_DISABLE) != 0 || here < low || here - low >= stack->ss_size)
        return SIZE_MAX;
    return here - low;
}
