/* plan_sources: what a plan may learn from a running JVM: two measurements with a time in between, its
 * container's limit, and what an agent of ours in it holds.
 *
 * A sample is /proc, hsperfdata and one NMT summary with VM.metaspace basic: no safepoint. Methods are counted
 * from outside (observe/loaded_methods.c) where its memory may be read. An agent
 * is only asked where it is loaded already. Setup context; blocks for the time between the two measurements. */
#pragma once

#include "analyzers/model/event.h"
#include "analyzers/plan/measured.h"
#include "nmtwatch/jvm/target.h"

#include <stddef.h>

/* between_ms 0: one measurement. FAILURE_NONE, or why the JVM could not be asked. */
enum failure_kind plan_live(struct plan_measured *measured, const struct target *target,
                            int64_t between_ms, int timeout_ms, struct failure *failure);
/* The answer of an agent to `memory`: resident bytes of each of its components as rows of a plan.
 * False: it is no such answer. */
bool plan_live_components(const char *json, struct plan_measured *measured);

/* plan_recorded: what a plan may learn from a recording: the JVM at its end, what a class cost
 * since its warm-up, and by its verdict whether it grows.
 *
 * Setup context; memory is bounded, whatever the length of the recording. */
/* False with one sentence in error: it cannot be read, or holds no NMT summary. damage: what of it
 * was not read; empty when it is whole. */
bool plan_recorded(struct plan_measured *measured, struct target_identity *identity,
                   const char *path, char *damage, size_t damage_size, char *error,
                   size_t error_size);
