/*
 * faults_state: what the setup (faults.c) and the handler (faults_signal.c) of SIGSEGV and SIGBUS
 * share. Internal to agent/hotspot.
 *
 * A library that puts its own handler over ours may pass on to ours. Were ours put on top of it
 * again, with the same address, the two would call each other for ever. So there are a few handlers
 * that do the same, each with its own predecessor:
 *
 *   level 1  ->  theirs  ->  level 0  ->  HotSpot's
 */
#ifndef AGENT_HOTSPOT_FAULTS_STATE_H
#define AGENT_HOTSPOT_FAULTS_STATE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

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

#endif
