/*
 * faults: the handler of SIGSEGV and SIGBUS that lets a guarded load fail.
 *
 * HotSpot lives by SIGSEGV: implicit null checks, safepoint polls, stack banging. Ours comes first,
 * looks whether the instruction is one of guarded_load.c, and passes everything else unchanged,
 * with the same siginfo and context and under the mask it would have had, to the handler before it.
 * faults_install puts it in (and again, when it is not in charge any more); faults_remove puts the
 * old one back when it is ours to put back, and else leaves a handler that only passes on.
 *
 * Setup context; the counters any.
 */
#ifndef AGENT_HOTSPOT_FAULTS_H
#define AGENT_HOTSPOT_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool faults_install(char *error, size_t error_size);
void faults_remove(void);
/* Loads that failed since the start. */
int64_t faults_caught(void);

#endif
