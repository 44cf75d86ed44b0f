/* What a dossier says of a profiler's suitability; the limits are analyzers/plan/suitability.h. */
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>

static const struct finding *worst_of(const struct triage *out, enum finding_kind kind)
{
    for (int i = 0; i < out->finding_count; i++) {
        if (out->findings[i].kind == kind && out->findings[i].severity > SEVERITY_INFO)
            return &out->findings[i];
    }
    return NULL;
}

/* Start-up, or a generator that the look was too short for; -1: not known. */
static double loading_per_s(const struct dossier *dossier)
{
    int64_t now, before;
    if (!dossier->have_sample || !dossier->have_before || dossier->span_s < 1.0 ||
        !sample_get(&dossier->sample, SAMPLE_CLASSES_LOADED, &now) ||
        !sample_get(&dossier->before, SAMPLE_CLASSES_LOADED, &before))
        return -1.0;
    return (double)(now - before) / dossier->span_s;
}

static void take_level(const struct dossier *dossier, struct suitability_facts *facts, char *words,
                       size_t size)
{
    struct level_pair pairs[DOSSIER_LEVEL_PAIRS];
    struct level levels[LEVELS_MAX];
    int count = levels_judge(dossier->identity.jdk_major, &dossier->thresholds, pairs,
                             dossier_level_pairs(dossier, pairs), levels);
    suitability_take_level(facts, levels, count, words, size);
}

void triage_suitability(const struct dossier *dossier, struct triage *out)
{
    const struct finding *explosion = worst_of(out, FINDING_CLASS_EXPLOSION);
    const struct finding *churn = worst_of(out, FINDING_CLASS_CHURN);
    struct suitability_facts facts = {
        .jdk_major = dossier->identity.jdk_major,
        .methods_per_class = TYPICAL_METHODS_PER_CLASS,
        .explosion = explosion != NULL ? explosion->family : NULL,
        .loader_leak = worst_of(out, FINDING_REDEPLOY_LEAK) != NULL,
        .churn = churn != NULL ? churn->family : NULL,
        .loading_per_s = loading_per_s(dossier),
    };
    char level[128];
    take_level(dossier, &facts, level, sizeof level);
    facts.counted =
        dossier->have_sample && sample_get(&dossier->sample, SAMPLE_CLASSES_LOADED, &facts.loaded);
    if (dossier->have_sample)
        sample_get(&dossier->sample, SAMPLE_CLASSES_UNLOADED, &facts.unloaded);
    if (!facts.counted && dossier->flow.have) {
        facts.loaded = dossier->flow.loads;
        facts.unloaded = dossier->flow.unloads;
        facts.counted = true;
    }
    suitability_judge(&facts, &out->suitability);
}
