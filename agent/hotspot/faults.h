/*
 * faults: the handler of SIGSEGV and SIGBUS that lets a guarded load fail.
 *
 * HotSpot lives by SIGSEGV: implicit null checks, safepoint polls, stack banging. Ours comes first,
 * looks whether the instruction is one of those loads, and passes everything else unchanged,
 * with the same siginfo and context and under the mask it would have had, to the handler before it.
 * faults_install puts it in (and again, when it is not in charge any more); faults_remove puts the
 * old one back when it is ours to put back, and else leaves a handler that only passes on.
 *
 * Setup context; the counters any.
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool faults_install(char *error, size_t error_size);
void faults_remove(void);
/* Loads that failed since the start. */
int64_t faults_caught(void);

/*
 * What the setup (faults.c) and the handler (faults_signal.c) of SIGSEGV and SIGBUS
 * share. Internal to agent/hotspot.
 *
 * A library that puts its own handler over ours may pass on to ours. Were ours put on top of it
 * again, with the same address, the two would call each other without end. So there are a few
 * handlers that do the same, each with its own predecessor:
 *
 *   level 1  ->  theirs  ->  level 0  ->  HotSpot's
 */
enum { FAULT_LEVELS = 4 };
enum fault_signal { FAULT_SEGV, FAULT_BUS, FAULT_SIGNALS };

typedef void fault_handler(int number, siginfo_t *info, void *context);
typedef int fault_action(int number, const struct sigaction *action, struct sigaction *old);

extern struct faults_state {
    struct sigaction before[FAULT_LEVELS]
                           [FAULT_SIGNALS]; /* written before the level's handler is in */
    fault_action *action;                   /* the C library's sigaction */
    _Atomic int64_t caught;
} faults_state;
extern fault_handler *const faults_handlers[FAULT_LEVELS];

/*
 * Where the loads (loads.c of the architecture) may fault, and where they go on then.
 *
 *   load_u64:   mov (%rdi), %rax    <- a fault here ...
 *               ret
 *   ...
 *   load_failed: mov %rsi, %rax     <- ... goes on here: `instead` is the result
 *               ret
 *
 * Internal to agent/hotspot. Signal context.
 */

/* The first instruction of each load is the load. Zero: the fault at pc is none of ours. */
uintptr_t guarded_load_resume(uintptr_t pc);
