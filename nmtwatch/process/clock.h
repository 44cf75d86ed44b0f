/* clock: the time, for all of nmtwatch.
 *
 *   CLOCK_BOOTTIME   how long something is watched: it continues while the machine is suspended, so
 *                    that growth per hour is real time
 *   CLOCK_MONOTONIC  timeouts: a suspended machine uses none of them up
 *   CLOCK_REALTIME   for people and files: milliseconds since the epoch; it may step
 *
 * Any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t clock_ms(clockid_t clock)
{
    return clock_us(clock) / 1000;
}
