/*
 * limits_json: the members of status that tell what the agent may cost, and how far it has given
 * way: "jmethodid", "unnamed_frames", "breaker" (docs/json.md). Commands' thread.
 */
#ifndef AGENT_CONTROL_LIMITS_JSON_H
#define AGENT_CONTROL_LIMITS_JSON_H

#include "agent/methods/jmethod_ids.h"

#include <stdio.h>

/* Each member with a comma behind it. ids: NULL while nothing is profiled. */
void limits_json(const struct jmethod_ids *ids, int64_t unnamed_frames, FILE *out);

#endif
