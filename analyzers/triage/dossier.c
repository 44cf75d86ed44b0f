#include "analyzers/triage/dossier.h"

bool dossier_growth(const struct dossier *dossier, enum nmt_category category, int64_t *bytes)
{
    struct nmt_amount now, before;
    if (dossier->have_sample && dossier->have_before &&
        sample_get_nmt(&dossier->sample, category, &now) &&
        sample_get_nmt(&dossier->before, category, &before)) {
        *bytes = now.committed_bytes - before.committed_bytes;
        return true;
    }
    if (!dossier->have_diff || !sample_get_nmt(&dossier->diff_now, category, &now) ||
        !sample_get_nmt(&dossier->diff_before, category, &before))
        return false;
    *bytes = now.committed_bytes - before.committed_bytes;
    return true;
}

int dossier_level_pairs(const struct dossier *dossier, struct level_pair pairs[DOSSIER_LEVEL_PAIRS])
{
    int count = 0;
    if (dossier->have_sample && sample_has_nmt(&dossier->sample)) {
        pairs[count++] = (struct level_pair){.now = &dossier->sample};
        if (dossier->have_before)
            pairs[count++] =
                (struct level_pair){&dossier->sample, &dossier->before, "the first look"};
    } else if (dossier->have_diff) {
        pairs[count++] = (struct level_pair){.now = &dossier->diff_now};
    }
    if (dossier->have_diff)
        pairs[count++] =
            (struct level_pair){&dossier->diff_now, &dossier->diff_before, "the baseline of NMT"};
    return count;
}

void dossier_add_agent(struct dossier *dossier, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct span name = span_from_cstr(slash != NULL ? slash + 1 : path);
    char copy[DOSSIER_AGENT_NAME_MAX];
    dossier->agents_known = true;
    span_copy(name, copy, sizeof copy);
    for (int i = 0; i < dossier->agent_count; i++) {
        if (strcmp(dossier->agents[i], copy) == 0)
            return;
    }
    if (copy[0] != '\0' && dossier->agent_count < DOSSIER_AGENTS_MAX)
        memcpy(dossier->agents[dossier->agent_count++], copy, sizeof copy);
}
