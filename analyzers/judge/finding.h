/*
 * finding: one thing that is wrong, with its evidence and what to change.
 *
 * The judge raises and clears findings (then they are alerts), `check` lists them. The kinds are
 * rows of findings.def. Ownership: plain data, copy freely. Any thread.
 */
#ifndef ANALYZERS_JUDGE_FINDING_H
#define ANALYZERS_JUDGE_FINDING_H

#include "analyzers/model/event.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };
const char *severity_name(enum severity severity); /* "INFO" "WARNING" "CRITICAL" */

enum finding_kind {
#define FINDING(id, name, severity, title, advice, runbook) FINDING_##id,
#include "analyzers/judge/findings.def"
#undef FINDING
    FINDING_KIND_COUNT,
    FINDING_WATCH_COUNT = FINDING_AGENT_RETAINS, /* kinds before it are raised by a watch */
};

struct finding_row {
    const char *id;
    enum severity severity;
    const char *title;
    const char *advice;
    const char *runbook;
};
const struct finding_row *finding_row(enum finding_kind kind);

/* Evidence: named figures in a fixed order. The key carries the unit (_bytes, _per_s, _percent). */
enum evidence_type { EVIDENCE_INT, EVIDENCE_REAL, EVIDENCE_TEXT };
struct evidence {
    char key[40];
    enum evidence_type type;
    int64_t number;
    double real;
    char text[EVENT_NAME_MAX];
};
#define EVIDENCE_MAX 20

struct finding {
    enum finding_kind kind;
    enum severity severity;
    char family[EVENT_FAMILY_MAX]; /* empty when the finding is about no family */
    char title[400];               /* one sentence with the main figures */
    char advice[800];              /* what to change: the family's fix where there is one */
    int evidence_count;
    struct evidence evidence[EVIDENCE_MAX];
};

/* Starts a finding from its row: severity, title, advice. */
void finding_init(struct finding *finding, enum finding_kind kind);
void finding_add_int(struct finding *finding, const char *key, int64_t number);
void finding_add_real(struct finding *finding, const char *key, double real);
/* Nothing is added for an empty text. */
void finding_add_text(struct finding *finding, const char *key, const char *text);
/* NULL when absent. */
const struct evidence *finding_evidence(const struct finding *finding, const char *key);

#endif
