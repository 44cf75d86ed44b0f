/*
 * threads_state: what threads.c and threads_describe.c share. Internal to agent/sampling.
 */
#pragma once

#include "agent/sampling/thread_registry.h"
#include "agent/sampling/thread_names.h"
#include "agent/sampling/wall.h"

#include <pthread.h>

struct threads {
    pthread_mutex_t lock; /* of everything here but what handlers read */
    bool running;
    bool paused; /* no timers, until it is over */
    struct thread_names names;
    struct timers timers;
    enum timer_kind forced; /* TIMER_NONE: the best that works */
    struct thread_registry registry;
    struct wall *wall;
    int wall_at;
    uint32_t scan;
    int64_t failed_timers, revived_timers;
    int64_t process_cpu_ns; /* since the start; while it runs, what it was then, negative */
    size_t stack_bytes;
    bool handler_replaced;
    struct ended_threads ended;
};
