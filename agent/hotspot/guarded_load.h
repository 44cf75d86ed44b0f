/*
 * guarded_load: where the loads of guarded_load.c may fault, and where they go on then.
 *
 *   load_u64:   mov (%rdi), %rax    <- a fault here ...
 *               ret
 *   ...
 *   load_failed: mov %rsi, %rax     <- ... goes on here: `instead` is the result
 *               ret
 *
 * Internal to agent/hotspot. Signal context.
 */
#ifndef AGENT_HOTSPOT_GUARDED_LOAD_H
#define AGENT_HOTSPOT_GUARDED_LOAD_H

#include <stdint.h>

/* The first instruction of each load is the load. Zero: the fault at pc is none of ours. */
uintptr_t guarded_load_resume(uintptr_t pc);

#endif
