/*
 * walk: Java frames of a thread, by HotSpot's own structures, without a jmethodID.
 *
 * Interpreted frames, compiled code with what is inlined into it, native wrappers, stubs, the
 * border between Java and the VM (call stub, anchor), mounted virtual threads, frames that wait to
 * be deoptimised. What is found is a Method * and a bytecode index; names are for seen_methods.h.
 *
 * A method on the stack of the thread that runs this cannot be unloaded meanwhile: what is found is
 * valid while the handler runs, and no longer.
 *
 * Signal context. Every load is guarded; a walk that meets what it does not understand ends with
 * the frames it has and says why.
 */
#ifndef AGENT_HOTSPOT_WALK_H
#define AGENT_HOTSPOT_WALK_H

#include "agent/stack/engine.h"

#include <stdint.h>

struct walked_frame {
    uintptr_t method; /* Method * */
    int32_t bci;      /* FRAME_BCI_NATIVE_METHOD: implemented natively */
    enum frame_type type;
};

/* Where a walk begins: the registers of an interrupted thread, or its last Java frame. */
struct walk_start {
    uintptr_t thread; /* JavaThread * */
    uintptr_t pc, sp, fp;
};

/* At most max frames, innermost first; *code is WALK_OK when the stack was walked to its end (or to
 * max). */
int walk_java(const struct walk_start *start, struct walked_frame *out, int max,
              enum walk_code *code);

#endif
