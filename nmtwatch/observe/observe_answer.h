/*
 * observe_answer: what a short observation found, read from its table as JSON (docs/json/observe.md) or its
 * stacks, for those who make one by themselves: a watch on suspicion, a triage.
 *
 * Pure; any thread.
 */
#ifndef NMTWATCH_OBSERVE_OBSERVE_ANSWER_H
#define NMTWATCH_OBSERVE_OBSERVE_ANSWER_H

#include "analyzers/model/event.h"
#include "analyzers/triage/facts.h"

#include <stddef.h>

/* Of `classes`: the families with the place that asked for them, most classes first. How many; 0 for a text that
 * is none. */
int observe_callers(const char *text, size_t length, struct caller_row *rows, int max);
/* Of `rss`, as collapsed stacks: the code that touched most of what grew outside of NMT. have is false when nothing
 * did. The text is cut up. */
void observe_outside(char *text, struct facts_toucher *toucher);
/* Of `methods`: the jmethodIDs there are. False: they were not counted. */
bool observe_ids(const char *text, size_t length, struct facts_ids *ids);

#endif
