/*
 * timers: the clock of one thread, of three kinds, set from outside of the thread.
 *
 * perf uses one file descriptor a thread; at most half of those that were free at timers_open are
 * used, and further threads get posix timers. Not signal-safe; under the lock of struct threads.
 */
#pragma once

#include "agent/sampling/threads.h"

#include <stdatomic.h>
#include <stddef.h>

struct timer {
    enum timer_kind kind;
    _Atomic int perf_fd;           /* -1: none; a handler compares it with si_fd */
    _Atomic bool perf_begins;      /* its first period, which is shorter; the handler ends it */
    _Atomic uint32_t perf_signals; /* counted by the handler */
    uint32_t perf_signals_before;  /* timer_revive's: as it was then, */
    int64_t perf_ns, cpu_ns;       /* and so the event's count and the thread's CPU time */
    int posix_id;                  /* of the kernel */
};
#define TIMER_INIT ((struct timer){.kind = TIMER_NONE, .perf_fd = -1, .posix_id = -1})

struct timers {
    enum timer_kind kind;
    int signal; /* that perf and posix timers send; an itimer's is SIGPROF */
    int64_t interval_ns;
    int64_t perf_left;     /* file descriptors we may still use */
    int64_t posix_instead; /* threads that got a posix timer because there were none left */
    bool user_only;        /* perf may not look into the kernel (perf_event_paranoid) */
    void *mark;            /* si_value of our posix timers */
    uint64_t random;       /* of first expiries */
};

/* Tries perf and posix on the calling thread, posix first where the interval is long enough for the
 * kernel's clock tick; or only `forced`, which starts the itimer when it is that. False with a
 * sentence. */
bool timers_open(struct timers *timers, enum timer_kind forced, int signal, int64_t interval_ns,
                 void *mark, char *error, size_t error_size);
/* 0, or an errno value; ESRCH: the thread has ended. Nothing to do for an itimer. */
int timer_start(struct timers *timers, struct timer *timer, int tid);
void timer_stop(struct timers *timers, struct timer *timer);
/* A perf event sends a few signals and is enabled again by the handler of the last one; when that
 * one was lost (the kernel has no room for more queued signals), it stays off. Each second or so:
 * true when the thread has worked and its event has not counted since the last call; it is on
 * again. */
bool timer_revive(const struct timers *timers, struct timer *timer, int tid);
/* How many signals an event sends before it has to be enabled again. */
int timer_perf_batch(int64_t interval_ns);
/* In a forked child, which has the file descriptors of the parent's timers and no timer. */
void timer_forget_in_child(struct timer *timer);
/* The itimer, if it is that: stopped, started again. */
void timers_pause(const struct timers *timers, bool pause);
/* Stops the itimer. */
void timers_close(struct timers *timers);
