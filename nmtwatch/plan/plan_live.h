/*
 * plan_live: what a plan may learn from a running JVM: two looks with a time in between, its
 * container's limit, and what an agent of ours in it holds.
 *
 * A look is /proc, hsperfdata and one NMT summary with VM.metaspace basic: no safepoint. An agent
 * is only asked where it is loaded already. Setup context; blocks for the time between the two measurements.
 */
#ifndef NMTWATCH_PLAN_PLAN_LIVE_H
#define NMTWATCH_PLAN_PLAN_LIVE_H

#include "analyzers/plan/measured.h"
#include "nmtwatch/jvm/target.h"

/* between_ms 0: one look. FAILURE_NONE, or why the JVM could not be asked. */
enum failure_kind plan_live(struct plan_measured *measured, const struct target *target,
                            int64_t between_ms, int timeout_ms, struct failure *failure);
/* The answer of an agent to `memory`: resident bytes of each of its components as rows of a plan.
 * False: it is no such answer. */
bool plan_live_components(const char *json, struct plan_measured *measured);

#endif
