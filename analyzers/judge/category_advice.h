/*
 * category_advice: what a category of NMT means, why it is large, what decides, what to change.
 * The table is categories.def: one row for each category we know. Any thread.
 */
#ifndef ANALYZERS_JUDGE_CATEGORY_ADVICE_H
#define ANALYZERS_JUDGE_CATEGORY_ADVICE_H

#include "analyzers/judge/finding.h"
#include "analyzers/parse/nmt_category.h"

struct category_advice {
    int64_t growth_bytes; /* between two looks, from which it is a finding; 0: never */
    int share_percent;    /* of committed memory without the heap, worth a note; 0: never */
    enum finding_kind kind;
    const char *meaning;
    const char *causes; /* the most probable first, apart by semicolons */
    const char *command;
    const char *fix;
};

/* NULL: a category that is not in the table. */
const struct category_advice *category_advice(enum nmt_category category);
/* Meaning, causes, command and fix as the finding's advice; "category" as evidence if it lacks. */
void category_advise(enum nmt_category category, struct finding *finding);

#endif
