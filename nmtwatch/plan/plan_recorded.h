/*
 * plan_recorded: what a plan may learn from a recording: the JVM at its end, what a class cost
 * since its warm-up, and by its verdict whether it grows.
 *
 * Setup context; memory is bounded, whatever the length of the recording.
 */
#ifndef NMTWATCH_PLAN_PLAN_RECORDED_H
#define NMTWATCH_PLAN_PLAN_RECORDED_H

#include "analyzers/model/event.h"
#include "analyzers/plan/measured.h"

#include <stddef.h>

/* False with one sentence in error: it cannot be read, or holds no NMT summary. damage: what of it
 * was not read; empty when it is whole. */
bool plan_recorded(struct plan_measured *measured, struct target_identity *identity,
                   const char *path, char *damage, size_t damage_size, char *error,
                   size_t error_size);

#endif
