/* triage_internal: the parts of triage_judge. Each adds findings; internal to analyzers/triage. */
#pragma once

#include "analyzers/triage/triage.h"

#define KB (INT64_C(1) << 10)
#define MB (INT64_C(1) << 20)
#define GB (INT64_C(1) << 30)

/* A new finding at the end of the list; when that is full one behind it, which is not counted. */
struct finding *triage_add(struct triage *out, enum finding_kind kind);
bool triage_has(const struct triage *out, enum finding_kind kind);

/* Who generates classes: from names in flow or in stock. */
void triage_names(const struct jvm_facts *facts, struct triage *out);
/* Agents: what they preallocate, what they keep. */
void triage_agents(const struct jvm_facts *facts, struct triage *out);
/* What grew while it was watched. Behind triage_memory. */
void triage_growth(const struct jvm_facts *facts, struct triage *out);
/* Outside NMT, direct memory, threads, symbols, redeployments, our own effect. */
void triage_memory(const struct jvm_facts *facts, struct triage *out);
/* Growth by the table of NMT, advice of its categories, the largest. */
void triage_categories(const struct jvm_facts *facts, struct triage *out);
/* Error files, the OOM killer, consoles, process tables. */
void triage_ticket(const struct jvm_facts *facts, struct triage *out);
/* Logs of collections, and jstat's rows. The observation of one: false when there is no log. */
void triage_gc(const struct jvm_facts *facts, struct triage *out);
bool triage_of_collections(const struct jvm_facts *facts, struct finding *finding);
/* Sentences of other programs, thread dumps; their observations. */
void triage_tools(const struct jvm_facts *facts, struct triage *out);
bool triage_of_threads(const struct jvm_facts *facts, struct finding *finding);
bool triage_of_malloc_profile(const struct jvm_facts *facts, struct finding *finding);
bool triage_of_pmap(const struct jvm_facts *facts, struct finding *finding);
bool triage_of_direct(const struct jvm_facts *facts, struct finding *finding);
/* Fix, command and key of a cause. */
void triage_advise(struct finding *finding, enum oom_cause cause);
/* What fills the heap; and what a text says when nothing above was found in it. Called last. */
void triage_answers(const struct jvm_facts *facts, struct triage *out);
void triage_suitability(const struct jvm_facts *facts, struct triage *out);
