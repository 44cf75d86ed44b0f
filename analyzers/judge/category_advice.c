#include "analyzers/judge/category_advice.h"

#define MB (INT64_C(1) << 20)

static const struct category_advice ROWS[NMT_CATEGORY_COUNT] = {
#define CATEGORY(category, growth_mb, share, finding, meaning, causes, command, fix)               \
    [NMT_##category] = {(growth_mb)*MB, share, FINDING_##finding, meaning, causes, command, fix},
#include "analyzers/judge/categories.def"
#undef CATEGORY
};

const struct category_advice *category_advice(enum nmt_category category)
{
    return (unsigned)category < NMT_CATEGORY_COUNT && ROWS[category].meaning != NULL
               ? &ROWS[category]
               : NULL;
}

void category_advise(enum nmt_category category, struct finding *finding)
{
    const struct category_advice *row = category_advice(category);
    if (row == NULL)
        return;
    finding_advice(finding, "Holds: %s. Probable causes, in this order: %s. To decide: %s. Fix: %s",
                   row->meaning, row->causes, row->command, row->fix);
    if (finding_evidence(finding, "category") == NULL)
        finding_add_text(finding, "category", nmt_category_name(category));
}
