/*
 * timers: the clock of one thread, of three kinds, set from outside of the thread.
 *
 * perf uses one file descriptor a thread; at most half of those that were free at timers_open are
 * used, and further threads get posix timers. Not signal-safe; under the lock of struct threads.
 */
#ifndef AGENT_SAMPLING_TIMERS_H
#define AGENT_SAMPLING_TIMERS_H

#include "agent/sampling/threads.h"

#include <stdatomic.h>
#include <stddef.h>

struct timer {
    enum timer_kind kind;
    _Atomic int perf_fd; /* -1: none; a handler compares it with si_fd */
    int posix_id;        /* of the kernel */
};
#define TIMER_INIT ((struct timer){.kind = TIMER_NONE, .perf_fd = -1, .posix_id = -1})

struct timers {
    enum timer_kind kind;
    int64_t interval_ns;
    int64_t perf_left;     /* file descriptors we may still use */
    int64_t posix_instead; /* threads that got a posix timer because there were none left */
    bool user_only;        /* perf may not look into the kernel (perf_event_paranoid) */
    void *mark;            /* si_value of our posix timers */
};

/* Tries the kinds on the calling thread, in the order of enum timer_kind, posix first where the
 * interval is long enough for the kernel's clock tick (only `forced` unless it is TIMER_NONE), and
 * starts the itimer if it comes to that. False with a sentence. */
bool timers_open(struct timers *timers, enum timer_kind forced, int64_t interval_ns, void *mark,
                 char *error, size_t error_size);
/* 0, or an errno value; ESRCH: the thread has ended. Nothing to do for an itimer. */
int timer_start(struct timers *timers, struct timer *timer, int tid);
void timer_stop(struct timers *timers, struct timer *timer);
/* In a forked child, which has the file descriptors of the parent's timers and no timer. */
void timer_forget_in_child(struct timer *timer);
/* Stops the itimer. */
void timers_close(struct timers *timers);

#endif
