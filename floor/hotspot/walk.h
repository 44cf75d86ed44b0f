/*
 * walk: Java frames of a thread, by HotSpot's own structures, without a jmethodID.
 *
 * Interpreted frames, compiled code with what is inlined into it, native wrappers, stubs, the
 * border between Java and the VM (call stub, anchor), mounted virtual threads, frames that wait to
 * be deoptimised. The result is a Method * and a bytecode index; names are for seen_methods.h.
 *
 * A method on the stack of the thread that runs this cannot be unloaded meanwhile: what is found is
 * valid while the handler runs, and no longer.
 *
 * Signal context. Every load is guarded; a walk that finds something it does not understand ends
 * with the frames it has and says why.
 */
#pragma once

#include "floor/hotspot/scopes.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a walk begins: the registers of an interrupted thread. Where they are those of native code,
 * of the VM for instance, it begins at the thread's last Java frame instead. */
struct walk_start {
    uintptr_t thread; /* JavaThread * */
    uintptr_t pc, sp, fp;
    /* As struct registers has them (machine.h); 0: not known. */
    uintptr_t link, entered, sender_sp, entered_from, thrown_at;
    bool in_java; /* the thread ran Java when pc is generated code: its state is not asked */
    uintptr_t stack_high; /* where the stack ends, for a thread that has gone; 0: of the thread */
};

/* At most max frames, innermost first; *code is WALK_OK when the stack was walked to its end (or to
 * max). WALK_UNKNOWN_NOT_JAVA without a frame: it is in native code that Java has called without
 * leaving a trace for the VM; a walk that begins at the Java caller's registers can go on. */
int walk_java(const struct walk_start *start, struct walked_frame *out, int max,
              enum walk_code *code);
/* The same where pc is the return address of a call that is under way, sp and fp as they will be
 * after it. */
int walk_java_from_call(const struct walk_start *start, struct walked_frame *out, int max,
                        enum walk_code *code);
/* From the thread's last Java frame, wherever it is now. */
int walk_java_from_anchor(uintptr_t thread, struct walked_frame *out, int max,
                          enum walk_code *code);
