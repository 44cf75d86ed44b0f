/*
 * breaker_apply: measures what the breaker judges, and does what it says.
 *
 *   warned     reported: nmtagent.Breaker in the recording, status, the published file
 *   shedding   no further jmethodIDs; stacks get the smallest tables; no profiles of allocations,
 *              live objects and classes
 *   silent     no signals any more: no samples
 *   stopped    the profiler is stopped as by a command, from a thread of its own
 *
 *   breaker_apply_begin (each start) -> breaker_apply_turn ... ; breaker_apply_view at any time
 *
 * What it came to stays to be seen until the next start.
 */
#pragma once

#include "agent/control/breaker.h"
#include "agent/control/recording.h"

void breaker_apply_begin(const struct agent_options *options);
/* Drain thread, about once a second. True when a step was taken: the chunk had better end. */
bool breaker_apply_turn(struct recording *recording);

struct breaker_view {
    struct breaker_limits limits;
    enum breaker_state state;
    int64_t own_bytes, jvm_bytes; /* as they were measured last */
    char reason[160];
};
/* Any thread. */
void breaker_apply_view(struct breaker_view *view);
