/*
 * jfr_clock: ticks of a recording are nanoseconds since the epoch.
 *
 * Readers translate ticks to time by the header of a chunk; those of newer JDKs use the first
 * chunk's for all. In concatenated recordings of several hosts that is only right when a tick means
 * the same in each. The offset from CLOCK_MONOTONIC is taken once a recording: a clock that is set
 * meanwhile does not make time jump.
 *
 * jfr_clock_ticks: signal context. jfr_clock_set: before handlers run.
 */
#ifndef AGENT_JFR_JFR_CLOCK_H
#define AGENT_JFR_JFR_CLOCK_H

#include <stdint.h>

void jfr_clock_set(int64_t offset_ns);
int64_t jfr_clock_ticks(int64_t monotonic_ns);

#endif
