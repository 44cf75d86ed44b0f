/*
 * threads: the threads of the process, their timers, and what a handler must know of its own one.
 *
 * Each thread that runs under a timer has an entry; the handler finds its own by a thread-local
 * pointer (initial-exec: no allocation, no lock). Threads are found at start (/proc/self/task), by
 * JVMTI ThreadStart, and by a scan now and then (GC and compiler threads are not reported).
 *
 * threads_self: signal context. The others: JVMTI callbacks and drain thread.
 */
#pragma once

#include <jvmti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum timer_kind {
    TIMER_NONE,
    TIMER_PERF,  /* perf_event_open, software task clock: the full rate */
    TIMER_POSIX, /* timer_create on the thread's CPU clock: cheaper, at most CONFIG_HZ */
    TIMER_ITIMER /* setitimer: the process's clock, whichever thread is running */
};
const char *timer_kind_name(enum timer_kind kind); /* "perf" "posix" "itimer" "none" */

#define THREAD_NAME_BYTES 512 /* what is longer is cut, at a character */

struct threads;

/* interval_ns of CPU time; 0: no timers, for wall-clock mode alone. forced: TIMER_NONE to choose
 * the best that works. Sets the handler of our signal (sigprof.h). False with a
 * sentence. */
bool threads_start(struct threads *threads, enum timer_kind forced, int64_t interval_ns,
                   char *error, size_t error_size);
/* Another interval of CPU time from now on, by the timers that it was started with; 0: no timers. False
 * with a sentence: the interval is what it was. */
bool threads_set_interval(struct threads *threads, int64_t interval_ns, char *error,
                          size_t error_size);
/* No signals are sent while it is paused; does nothing when that is so already. A thread that
 * starts meanwhile is known, and gets its timer afterwards. */
void threads_pause(struct threads *threads, bool pause);
/* Timers deleted, handler restored, no thread inside a handler any more. */
void threads_stop(struct threads *threads);

/* jvmti: the agent's own; both NULL without a JVM. */
struct threads *threads_create(JavaVM *vm, jvmtiEnv *jvmti);
void threads_started(struct threads *threads, JNIEnv *env, jthread thread); /* on that thread */
void threads_ended(struct threads *threads);                                /* on that thread */
/* New native threads get a timer, vanished ones are forgotten. */
void threads_scan(struct threads *threads);
enum timer_kind threads_timer(const struct threads *threads);
/* Of CPU time and of the wall clock; 0: off. */
int64_t threads_interval_ns(const struct threads *threads);
int64_t threads_wall_interval_ns(const struct threads *threads);

/* The names of a chunk: threads_learn_names, threads_describe ..., threads_chunk_written.
 *
 * One pass over the JVM's threads, however many are wanted; none of its locks is held meanwhile. */
void threads_learn_names(struct threads *threads, const int *tids, size_t count);
/* Those that have an event in this chunk or had one before, and those that ended in this or the
 * last one; in no order, an id may come twice. *tids is the caller's (mem_free), NULL: out of
 * memory. */
size_t threads_sampled(struct threads *threads, int **tids);
void threads_chunk_written(struct threads *threads);
/* The calling thread has an event in the recording, outside of signals. */
void threads_mark_self(JNIEnv *env);
/* Name and Java id; false when it is unknown. */
bool threads_describe(struct threads *threads, int tid, char *name, size_t size, int64_t *java_id);

struct threads_counts {
    int64_t threads, timers, failed_timers, signals, foreign_signals;
    int64_t revived_timers; /* found off while their thread worked, and enabled again */
    int64_t small_stacks;   /* signals dropped: too little left of an alternate signal stack */
    int64_t late_signals;   /* of our timers, after they were gone; dropped */
    int64_t nested_signals; /* came while the handler was at work; dropped */
    int64_t posix_instead;  /* threads with a posix timer because perf's descriptors ran out */
    int64_t wall_signals;   /* sent by the wall-clock thread */
    int64_t process_cpu_ns; /* CPU time of the process since the start, and what of it */
    int64_t sampled_cpu_ns; /* the samples stand for: each for an interval */
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
/* Before threads_start: what the sample function needs of a stack. A signal on an alternate stack
 * (sigaltstack) that has less left, with room for a fault in between, is dropped and counted. */
void threads_set_stack(struct threads *threads, size_t bytes);
/* Signal context, in a sample function: the sample is one of wall-clock mode. */
bool threads_sample_is_wall(void);

/* Wall-clock mode: signals at most max_threads threads each interval, round robin, from a thread of
 * its own. */
bool threads_start_wall(struct threads *threads, int64_t interval_ns, int max_threads, char *error,
                        size_t error_size);
/* Another time between two rounds; false: there are none. */
bool threads_set_wall(struct threads *threads, int64_t interval_ns);
void threads_stop_wall(struct threads *threads);
