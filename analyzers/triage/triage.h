/*
 * triage: a facts in, findings out, the culprit first; and whether a profiler is appropriate.
 *
 * Whose memory is it? The application's classes, an agent, the JVM, native code outside NMT, or the
 * tool that looks. Each finding says which code makes it and what to change; a JVM in health has no
 * finding above INFO.
 *
 * Pure; any thread.
 */
#pragma once

#include "analyzers/judge/finding.h"
#include "analyzers/native/call_site_group.h"
#include "analyzers/plan/suitability.h"
#include "analyzers/triage/facts.h"

#define TRIAGE_FINDINGS_MAX 32

struct triage {
    int finding_count;
    struct finding findings[TRIAGE_FINDINGS_MAX + 1]; /* the culprit first; the last has no place */
    bool undecided; /* something grew, and the watch was too short to tell whether it goes on */
    struct account account, account_before; /* whose RSS is, where the facts have it; settled */
    struct explained explained;             /* an agent that preallocates? */
    struct suitability_verdict suitability;
    struct texts texts; /* of the findings */
};

/* alerts: what the judge raised during a live triage or a replay; count may be 0. out is all zero,
 * or one of before, whose texts are freed. */
void triage_judge(const struct jvm_facts *facts, const struct finding *alerts, int alert_count,
                  struct triage *out);
/* Findings from elsewhere (a heap dump), each to its place; the least of all go when there are too
 * many. */
void triage_insert(struct triage *triage, const struct finding *findings, int count);
void triage_free(struct triage *triage);
