#include "analyzers/triage/triage_internal.h"

struct finding *triage_add(struct triage *out, enum finding_kind kind)
{
    int at = out->finding_count;
    out->finding_count += at < TRIAGE_FINDINGS_MAX;
    out->findings[at] = finding_begin(&out->texts, kind);
    return &out->findings[at];
}

bool triage_has(const struct triage *out, enum finding_kind kind)
{
    for (int i = 0; i < out->finding_count; i++) {
        if (out->findings[i].kind == kind)
            return true;
    }
    return false;
}
