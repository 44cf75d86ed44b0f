/* recorded: a recording of nmtwatch as a case for triage: its events go through the judge, as a
 * replay feeds them, and what was known at the end is the facts.
 *
 *   recorded_read -> facts, alerts -> recorded_free
 *
 * Setup context; memory is bounded, whatever the length of the recording. */
#pragma once

#include "analyzers/triage/triage.h"

struct recorded {
    struct jvm_facts facts;
    int alert_count; /* raised in the course of it, whether cleared later or not */
    struct finding alerts[TRIAGE_FINDINGS_MAX];
    struct texts texts; /* theirs */
    int64_t unknown_lines;
    char damage[160]; /* empty: read to its end */
};

/* The front of a recording, as text. */
bool recorded_is(struct span text);
/* At the thresholds of the recording. NULL with one sentence in error. */
struct recorded *recorded_read(const char *path, char *error, size_t error_size);
void recorded_free(struct recorded *recorded);

/* What a class-load log has shown up to `ms`, as a facts has it; late_loads are not known. */
void recorded_names(struct facts_names *flow, const struct names_event *event, int64_t ms);
/* Whose code asks for classes, likewise. */
void recorded_callers(struct jvm_facts *facts, const struct callers_event *event);
