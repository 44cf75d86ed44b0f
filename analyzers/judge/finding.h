/*
 * finding: one thing that is wrong, with its evidence and what to change.
 *
 * The judge raises and clears findings (then they are alerts), `check` lists them. The kinds are
 * rows of findings.def. A finding is small: its texts and its evidence are in an arena (texts.h) of its maker,
 * and live as long as that. It may be copied by value; finding_copy is for who keeps it longer. Any thread.
 */
#pragma once

#include "analyzers/model/event.h"
#include "analyzers/model/texts.h"
#include "analyzers/model/units.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };
const char *severity_name(enum severity severity); /* "INFO" "WARNING" "CRITICAL" */

enum finding_kind {
#define FINDING(id, name, severity, title, advice, runbook) FINDING_##id,
#include "analyzers/judge/findings.def"
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
/* Where the Debian package has them, as an address. */
#define FINDING_RUNBOOKS "file:///usr/share/doc/nmtwatch/runbooks/"
/* The address of its page below base ("": FINDING_RUNBOOKS). False when it was cut. */
bool finding_runbook_url(enum finding_kind kind, const char *base, char *out, size_t size);

/* Evidence: named figures in a fixed order. The key carries the unit (_bytes, _per_s, _percent). */
enum evidence_type { EVIDENCE_INT, EVIDENCE_REAL, EVIDENCE_TEXT };
struct evidence {
    const char *key;
    enum evidence_type type;
    int64_t number;
    double real;
    const char *text; /* never NULL */
};
#define EVIDENCE_MAX       20
#define EVIDENCE_KEY_MAX   40 /* bytes with NUL; longer texts are cut */
#define FINDING_TITLE_MAX  400
#define FINDING_ADVICE_MAX 800

struct finding {
    enum finding_kind kind;
    enum severity severity;
    const char *family; /* "" when the finding is about no family */
    const char *title;  /* one sentence with the main figures */
    const char *advice; /* what to change: the family's fix where there is one */
    int evidence_count, evidence_room;
    struct evidence *evidence;
    struct texts *texts; /* what is added goes there */
};

/* Starts a finding from its row: severity, title, advice. */
struct finding finding_begin(struct texts *texts, enum finding_kind kind);
void finding_title(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_advice(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_family(struct finding *finding, const char *family);
void finding_add_int(struct finding *finding, const char *key, int64_t number);
/* Nothing is added below 0: not known. */
void finding_add_known(struct finding *finding, const char *key, int64_t number);
void finding_add_real(struct finding *finding, const char *key, double real);
/* A text, cut as all are: its key is that and "_1", "_2", ... */
void finding_add_listed(struct finding *finding, const char *key, int number, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
/* Nothing is added for an empty text. */
void finding_add_text(struct finding *finding, const char *key, const char *text);
/* The place that asked for most classes of the family that this one, as the JVM printed its name, belongs to; classes: of
 * all of that family. NULL: no row is about it. */
const struct caller_row *finding_caller(const struct caller_row *rows, int count,
                                        const char *class_name, int64_t *classes);
/* Whose code asked for classes of the family that this one, as the JVM printed its name, belongs to: as evidence,
 * and at the end of the title. Nothing where no row is about it. */
void finding_add_caller(struct finding *finding, const struct caller_row *rows, int count,
                        const char *class_name);
/* The same for a finding of classes that was made before it was known, by its example. */
void finding_add_late_caller(struct finding *finding, const struct caller_row *rows, int count);
/* NULL when absent. */
const struct evidence *finding_evidence(const struct finding *finding, const char *key);
/* The same with its texts in another arena. Without memory texts are empty and evidence is left
 * out. `to` may be `from`. */
void finding_copy(struct finding *to, struct texts *texts, const struct finding *from);

/*
 * thresholds: the numbers alerts are raised at; the table is thresholds.def.
 * Any thread. Plain data.
 */
enum threshold {
#define THRESHOLD(id, key, dflt, unit, min, max, meaning) TH_##id,
#include "analyzers/judge/thresholds.def"
    THRESHOLD_COUNT,
};

struct thresholds {
    int64_t value[THRESHOLD_COUNT];
};

struct threshold_row {
    const char *key;
    int64_t dflt;
    const char *unit;
    int64_t min;
    int64_t max;
    const char *meaning;
};

const struct threshold_row *threshold_row(enum threshold which);
void thresholds_default(struct thresholds *thresholds);
/* THRESHOLD_COUNT when there is no such key. */
enum threshold threshold_from_key(const char *key);
