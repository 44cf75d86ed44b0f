/*
 * clock: the time that everything in the agent is measured in, in ns since some moment. It does not
 * jump. jfr_clock_ticks makes a recording's ticks of it. Any thread, signal handlers included.
 */
#ifndef AGENT_MEM_CLOCK_H
#define AGENT_MEM_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
