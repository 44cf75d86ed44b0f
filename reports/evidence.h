/*
 * evidence: a finding's figures as people read them, the same in every report: a label from the key
 * ("max_same_name" -> "max same name"), the value with the unit that the key carries.
 * Not escaped: texts are the target's. Any thread.
 */
#ifndef REPORTS_EVIDENCE_H
#define REPORTS_EVIDENCE_H

#include "analyzers/judge/finding.h"

struct evidence_text {
    char label[40];
    char value[EVENT_NAME_MAX];
};

struct evidence_text evidence_text(const struct evidence *evidence);

#endif
