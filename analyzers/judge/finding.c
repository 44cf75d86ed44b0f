#include "analyzers/judge/finding.h"

#include <stdio.h>

static const struct finding_row ROWS[FINDING_KIND_COUNT] = {
#define FINDING(id, name, severity, title, advice, runbook)                                        \
    [FINDING_##id] = {name, SEVERITY_##severity, title, advice, runbook},
#include "analyzers/judge/findings.def"
#undef FINDING
};

const char *severity_name(enum severity severity)
{
    switch (severity) {
    case SEVERITY_WARNING:
        return "WARNING";
    case SEVERITY_CRITICAL:
        return "CRITICAL";
    case SEVERITY_INFO:
        break;
    }
    return "INFO";
}

const struct finding_row *finding_row(enum finding_kind kind)
{
    return &ROWS[kind];
}

void finding_init(struct finding *finding, enum finding_kind kind)
{
    memset(finding, 0, sizeof *finding);
    finding->kind = kind;
    finding->severity = ROWS[kind].severity;
    snprintf(finding->title, sizeof finding->title, "%s", ROWS[kind].title);
    snprintf(finding->advice, sizeof finding->advice, "%s", ROWS[kind].advice);
}

static struct evidence *add(struct finding *finding, const char *key)
{
    if (finding->evidence_count == EVIDENCE_MAX)
        return NULL;
    struct evidence *evidence = &finding->evidence[finding->evidence_count++];
    snprintf(evidence->key, sizeof evidence->key, "%s", key);
    return evidence;
}

void finding_add_int(struct finding *finding, const char *key, int64_t number)
{
    struct evidence *evidence = add(finding, key);
    if (evidence == NULL)
        return;
    evidence->type = EVIDENCE_INT;
    evidence->number = number;
}

void finding_add_real(struct finding *finding, const char *key, double real)
{
    struct evidence *evidence = add(finding, key);
    if (evidence == NULL)
        return;
    evidence->type = EVIDENCE_REAL;
    evidence->real = real;
}

void finding_add_text(struct finding *finding, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    struct evidence *evidence = add(finding, key);
    if (evidence == NULL)
        return;
    evidence->type = EVIDENCE_TEXT;
    span_copy(span_from_cstr(text), evidence->text, sizeof evidence->text);
}

const struct evidence *finding_evidence(const struct finding *finding, const char *key)
{
    for (int i = 0; i < finding->evidence_count; i++) {
        if (strcmp(finding->evidence[i].key, key) == 0)
            return &finding->evidence[i];
    }
    return NULL;
}
