/* heap_sampler: HotSpot's own sampler of allocations (JEP 331), switched on from outside.
 *
 * Five bytes of libjvm's data: the flag JvmtiExport::_should_post_sampled_object_alloc and the four of
 * ThreadHeapSampler::_sampling_interval.
 *
 *   heap_sampler_open -> heap_sampler_on -> heap_sampler_is_on ... -> heap_sampler_close
 *
 * No file remembers what to restore. JVMTI keeps for itself whether an agent wants the event, and the interval
 * that HotSpot begins with is in libjvm's file. So a flag that is set without JVMTI's knowing was set from
 * outside. It is set before the interval is written and cleared after that is restored: a process killed in
 * between leaves a flag by which heap_sampler_repair knows.
 *
 *   flag  JVMTI
 *    0     -      off
 *    1     1      an agent uses it: nothing is written, now or when we end
 *    1     0      from outside: restored by us, by our watcher, by --repair
 *
 * The watcher is a process of its own (own session, child of a child) with a pipe to us and the target's memory
 * and nothing else. It restores when the pipe closes, and ends when it is notified that this was done.
 *
 * Memory is written through one descriptor of /proc/PID/mem: it belongs to the memory of that program, so
 * that after exec, exit or reuse of the pid nothing is written anywhere. A program with more rights than its
 * user, started just before (setuid), is recognised by its owner in /proc: nothing is written then.
 *
 * One process at a time; one thread; remote.h and stacks.h are open for the same target. */
#pragma once

#include "nmtwatch/jvm/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_SAMPLER_EVERY_MIN (INT64_C(16) << 10)
#define HEAP_SAMPLER_EVERY_MAX (INT64_C(1) << 30)

struct heap_sampler;

/* Finds the five bytes, checks them, writes nothing. NULL with a sentence: no such symbols, values that are
 * none, memory that is not for us. */
struct heap_sampler *heap_sampler_open(const struct target *target, char *error, size_t error_size);
/* False with a sentence: it is in use, by an agent or from outside; no watcher could be started. */
bool heap_sampler_on(struct heap_sampler *sampler, int64_t every_bytes, char *error,
                     size_t error_size);
/* The interval by which the gap up to the first sample of each thread that is there was drawn. */
int64_t heap_sampler_first_interval(const struct heap_sampler *sampler);
/* False: it was switched off since. */
bool heap_sampler_is_on(const struct heap_sampler *sampler);
/* Restores what heap_sampler_on wrote, where the target still is. */
void heap_sampler_close(struct heap_sampler *sampler);

/* The state that a killed observer left. False with a sentence; else a sentence of what was done. Opens
 * remote.h and stacks.h itself. */
bool heap_sampler_repair(const struct target *target, char *done, size_t done_size, char *error,
                         size_t error_size);
