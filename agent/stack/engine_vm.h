/*
 * engine_vm: what the setup (engine_vm.c) and the signal handler (engine_vm_walk.c) share of the
 * engine that walks by HotSpot's own structures. Internal to agent/stack.
 */
#ifndef AGENT_STACK_ENGINE_VM_H
#define AGENT_STACK_ENGINE_VM_H

#include "agent/methods/seen_methods.h"
#include "agent/stack/engine.h"

#include <stdatomic.h>

/* Where a frame's method gets its number. NULL: frames have none (SEEN_UNKNOWN). */
extern struct seen_methods *_Atomic engine_vm_seen;
#ifdef NMTAGENT_COMPARE
extern _Thread_local bool engine_vm_places_as_agct; /* agent/hotspot/walk.h says which */
#endif

int engine_vm_walk(JNIEnv *env, void *ucontext, struct frame *out, int max, enum walk_code *code);
/* Callbacks of the JVM. */
int engine_vm_walk_here(JNIEnv *env, struct frame *out, int max, enum walk_code *code);

#endif
