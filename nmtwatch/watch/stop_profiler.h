/*
 * stop_profiler: the last resort of a watch, when it is asked for (--on-unacceptable): the profiler
 * in a JVM is asked to stop.
 *
 *   stop_profiler_begin -> stop_profiler_step ... until it is done -> stop_profiler_destroy
 *
 * libnmtagent.so is stopped through the attach operation, in a child process: the event loop never
 * blocks. Other profilers cannot be stopped from outside: they are named from the JVM's memory map
 * with what stops them. The outcome comes as sentences, of a failure too. One thread.
 */
#ifndef NMTWATCH_WATCH_STOP_PROFILER_H
#define NMTWATCH_WATCH_STOP_PROFILER_H

#include "nmtwatch/jvm/proc.h"
#include "nmtwatch/jvm/target.h"

#define STOP_PROFILER_WAIT_MS 35000 /* longer than the call itself may take */

struct stop_profiler;

/* NULL with errno. */
struct stop_profiler *stop_profiler_begin(const struct target *target, int64_t now_ms);
/* True when it is done; each sentence has been passed on by then. */
typedef void stop_profiler_report_fn(void *context, const char *sentence);
bool stop_profiler_step(struct stop_profiler *stop, int64_t now_ms, stop_profiler_report_fn *report,
                        void *context);
/* A child that is still at work goes on and ends by itself. */
void stop_profiler_destroy(struct stop_profiler *stop);

/* Names of other profilers among what is mapped, a sentence each. */
void stop_profiler_others(struct proc_maps *maps, stop_profiler_report_fn *report, void *context);

#endif
