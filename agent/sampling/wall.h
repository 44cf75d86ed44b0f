/*
 * wall: a thread that signals others by the wall clock, a bounded number each round, in turn.
 *
 * The signals interrupt waiting threads too. SA_RESTART is set, but calls that are never restarted
 * (poll, nanosleep) return EINTR there: Java expects it, some native libraries do not. That is why
 * wall-clock mode is off unless asked for.
 *
 * Setup context.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct wall;

/* Fills tids with the next threads in turn, at most max; returns how many. */
typedef int wall_pick_fn(void *context, int *tids, int max);

/* max_threads: 1 to WALL_THREADS_MAX. signal: its number. mark: si_value of the signals. NULL with
 * a sentence. */
#define WALL_THREADS_MAX 1024
struct wall *wall_start(int64_t interval_ns, int max_threads, int signal, void *mark,
                        wall_pick_fn *pick, void *context, char *error, size_t error_size);
/* Rounds come so far apart from now on. One caller at a time, also for the interval in force. */
void wall_set_interval(struct wall *wall, int64_t interval_ns);
int64_t wall_interval_ns(const struct wall *wall);
int64_t wall_signals(const struct wall *wall);
void wall_stop(struct wall *wall);
/* In a forked child, where the thread is not. */
void wall_forget_in_child(struct wall *wall);
