/*
 * safepoints: how many safepoints the JVM has come to, read in a signal handler.
 *
 * The JVM frees a Method, and lets a redefined one run, at safepoints only. So between two reads
 * with the same count a Method that is on a stack each time is the same one
 * (methods/seen_methods.h). The JVM counts them where jstat reads: the counter sun.rt.safepoints,
 * which goes up when a safepoint begins. There is none with -XX:-UsePerfData.
 *
 * safepoints_find: setup context, after layout_read. safepoints_count: signal context.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: this JVM does not count them, or not where we could read it. */
bool safepoints_find(void);
/* False: not found. */
bool safepoints_count(uint64_t *out);
/* Where another of those counters (of 32 characters at most) is, for load_u64; 0: there is none. Setup
 * context, after layout_read. */
uintptr_t jvm_counter_find(const char *name);
