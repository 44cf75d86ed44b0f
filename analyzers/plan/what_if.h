/*
 * what_if: what more of something means: the plan made again with one number changed, less the
 * plan.
 *
 * Pure; any thread.
 */
#ifndef ANALYZERS_PLAN_WHAT_IF_H
#define ANALYZERS_PLAN_WHAT_IF_H

#include "analyzers/plan/plan.h"

/* Fills plan->changes. The rest of the plan is complete. */
void plan_what_if(struct plan *plan);

#endif
