/*
 * native: native frames above Java, by libunwind's local unwinding, in a signal handler.
 *
 * libunwind's unw_init_local2 with UNW_INIT_SIGNAL_FRAME and per-thread caching is used; it takes no
 * lock and allocates nothing once native_setup has warmed it up (measured; docs/measurements.md).
 * Optional at run time: without libunwind.so.8 there are no native frames, and status says so.
 */
#ifndef AGENT_STACK_NATIVE_H
#define AGENT_STACK_NATIVE_H

#include "agent/stack/frame.h"

#include <stdbool.h>
#include <stddef.h>

/* Setup context. False with a sentence: no native frames. */
bool native_setup(char *error, size_t error_size);
/* Signal context. Frames from the interrupted pc outwards until the code cache (Java) is reached,
 * the stack ends, or max. */
int native_walk(void *ucontext, struct frame *out, int max);
/* True when pc lies in code the JVM generated: where native_walk stops. */
void native_set_code_cache(uintptr_t low, uintptr_t high);

#endif
