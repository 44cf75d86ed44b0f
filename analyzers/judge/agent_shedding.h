/*
 * agent_shedding: what the circuit breaker of libnmtagent.so has come to, as a finding: the watch's
 * alert and the look of `check` say the same. Pure; any thread.
 */
#ifndef ANALYZERS_JUDGE_AGENT_SHEDDING_H
#define ANALYZERS_JUDGE_AGENT_SHEDDING_H

#include "analyzers/judge/finding.h"

/* The steps of SAMPLE_AGENT_BREAKER. */
#define AGENT_BREAKER_STEPS 4
/* "warned" "shedding" "silent" "stopped"; step 1 to AGENT_BREAKER_STEPS. */
const char *agent_breaker_step_name(int step);
/* 0: there is no agent, or it has not given way. */
int agent_breaker_step(const struct sample *sample);
/* For a step above 0. */
void agent_shedding_finding(const struct sample *sample, struct texts *texts,
                            struct finding *finding);

#endif
