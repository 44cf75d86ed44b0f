/*
 * threads: the threads of the process, their timers, and what a handler must know of its own one.
 *
 * Each thread that runs under a timer has an entry; the handler finds its own by a thread-local
 * pointer (initial-exec: no allocation, no lock). Threads are found at start (/proc/self/task), by
 * JVMTI ThreadStart, and by a scan now and then (GC and compiler threads tell nobody).
 *
 * threads_self: signal context. The others: JVMTI callbacks and drain thread.
 */
#ifndef AGENT_SAMPLING_THREADS_H
#define AGENT_SAMPLING_THREADS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

enum timer_kind {
    TIMER_NONE,
    TIMER_PERF,  /* perf_event_open, software task clock: the full rate */
    TIMER_POSIX, /* timer_create on the thread's CPU clock: cheaper, at most CONFIG_HZ */
    TIMER_ITIMER /* setitimer: the process's clock, whichever thread is running */
};
const char *timer_kind_name(enum timer_kind kind); /* "perf" "posix" "itimer" "none" */

struct threads;

/* interval_ns of CPU time; 0: no timers, for wall-clock mode alone. forced: TIMER_NONE to choose
 * the best that works. Sets the SIGPROF handler (chains or refuses a foreign one). False with a
 * sentence. */
bool threads_start(struct threads *threads, enum timer_kind forced, int64_t interval_ns,
                   char *error, size_t error_size);
/* Timers gone, handler restored, nobody inside a handler any more. */
void threads_stop(struct threads *threads);

struct threads *threads_create(JavaVM *vm);
void threads_started(struct threads *threads, JNIEnv *env, jthread thread); /* on that thread */
void threads_ended(struct threads *threads);                                /* on that thread */
/* New native threads get a timer, vanished ones are forgotten. */
void threads_scan(struct threads *threads);
enum timer_kind threads_timer(const struct threads *threads);

/* Name and Java id of a thread seen in a chunk; false when it is unknown (it ended). */
bool threads_describe(struct threads *threads, int tid, char *name, size_t size, int64_t *java_id);

struct threads_counts {
    int64_t threads, timers, failed_timers, signals, foreign_signals;
    int64_t late_signals;   /* of our timers, after they were gone; dropped */
    int64_t nested_signals; /* came while the handler was at work; dropped */
    int64_t posix_instead;  /* threads with a posix timer because perf's descriptors ran out */
    int64_t wall_signals;   /* sent by the wall-clock thread */
    bool user_only;         /* perf may not sample the kernel: its time is seen as no samples */
    bool handler_replaced;  /* somebody installed a handler after us, as seen by the last scan */
};
void threads_counts(const struct threads *threads, struct threads_counts *counts);
void threads_destroy(struct threads *threads);

/* The profiler's handler, called in signal context with errno saved. env is NULL for threads that
 * are no Java threads. */
typedef void threads_sample_fn(void *context, int tid, JNIEnv *env, void *ucontext);
/* Before threads_start. NULL after threads_stop: the recording is over, threads and names are
 * forgotten and their memory is given back. */
void threads_on_sample(struct threads *threads, threads_sample_fn *sample, void *context);
/* Signal context, in a sample function: the sample is one of wall-clock mode. */
bool threads_sample_is_wall(void);

/* Wall-clock mode: signals at most max_threads threads each interval, round robin, from a thread of
 * its own. */
bool threads_start_wall(struct threads *threads, int64_t interval_ns, int max_threads, char *error,
                        size_t error_size);

#endif
