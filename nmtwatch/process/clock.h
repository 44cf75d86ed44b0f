/*
 * clock: the time, for all of nmtwatch.
 *
 *   CLOCK_BOOTTIME   how long something is watched: it goes on while the machine is suspended, so
 *                    that growth per hour is real time
 *   CLOCK_MONOTONIC  timeouts: a suspended machine uses none of them up
 *   CLOCK_REALTIME   for people and files: milliseconds since the epoch; it may step
 *
 * Any thread.
 */
#ifndef NMTWATCH_PROCESS_CLOCK_H
#define NMTWATCH_PROCESS_CLOCK_H

#include <stdint.h>
#include <time.h>

int64_t clock_us(clockid_t clock);
int64_t clock_ms(clockid_t clock);

#endif
