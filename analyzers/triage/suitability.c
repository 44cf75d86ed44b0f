/* May a profiler that preallocates jmethodIDs run here? By classes loaded in all, and by whether
 * they go on being loaded: 100 000 classes are ordinary, a million wants watching, ten million or
 * growth without end is not for it. */
#include "analyzers/native/jmethodid_cost.h"
#include "analyzers/triage/triage_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define ORDINARY_CLASSES    INT64_C(100000)
#define EXTREME_CLASSES     INT64_C(10000000)
#define STILL_LOADING_PER_S 2.0
#define MB                  (INT64_C(1) << 20)

const char *suitability_name(enum suitability suitability)
{
    switch (suitability) {
    case SUITABILITY_CAUTION:
        return "CAUTION";
    case SUITABILITY_NOT_APPROPRIATE:
        return "NOT APPROPRIATE";
    case SUITABILITY_APPROPRIATE:
        break;
    }
    return "APPROPRIATE";
}

static const struct finding *worst_of(const struct triage *out, enum finding_kind kind)
{
    for (int i = 0; i < out->finding_count; i++) {
        if (out->findings[i].kind == kind && out->findings[i].severity > SEVERITY_INFO)
            return &out->findings[i];
    }
    return NULL;
}

/* Start-up, or a generator that the look was too short for. */
static bool still_loading(const struct dossier *dossier, double *per_s)
{
    int64_t now, before;
    if (!dossier->have_sample || !dossier->have_before || dossier->span_s < 1.0 ||
        !sample_get(&dossier->sample, SAMPLE_CLASSES_LOADED, &now) ||
        !sample_get(&dossier->before, SAMPLE_CLASSES_LOADED, &before))
        return false;
    *per_s = (double)(now - before) / dossier->span_s;
    return *per_s >= STILL_LOADING_PER_S;
}

static void say(struct triage *out, enum suitability suitability)
{
    out->suitability = suitability;
}

void triage_suitability(const struct dossier *dossier, struct triage *out)
{
    char *reason = out->suitability_reason;
    size_t size = sizeof out->suitability_reason;
    int64_t loaded = 0, unloaded = 0;
    double per_s;
    bool counted =
        dossier->have_sample && sample_get(&dossier->sample, SAMPLE_CLASSES_LOADED, &loaded);
    if (dossier->have_sample)
        sample_get(&dossier->sample, SAMPLE_CLASSES_UNLOADED, &unloaded);
    if (!counted && dossier->flow.have) {
        loaded = dossier->flow.loads;
        unloaded = dossier->flow.unloads;
        counted = true;
    }
    const struct finding *explosion = worst_of(out, FINDING_CLASS_EXPLOSION);
    const struct finding *leak = worst_of(out, FINDING_REDEPLOY_LEAK);
    const struct finding *churn = worst_of(out, FINDING_CLASS_CHURN);
    struct jmethodid_cost cost = jmethodid_cost(
        dossier->identity.jdk_major,
        (struct jmethodid_load){loaded, TYPICAL_METHODS_PER_CLASS, loaded > 0 ? loaded : 1});
    int64_t cost_mb = jmethodid_loaded_bytes(&cost) / MB;
    if (explosion != NULL) {
        say(out, SUITABILITY_NOT_APPROPRIATE);
        snprintf(reason, size,
                 "classes are generated without end (%.120s): fix the application first",
                 explosion->family);
    } else if (leak != NULL) {
        say(out, SUITABILITY_NOT_APPROPRIATE);
        snprintf(reason, size, "class loaders leak: classes are never unloaded");
    } else if (counted && loaded >= EXTREME_CLASSES) {
        say(out, SUITABILITY_NOT_APPROPRIATE);
        snprintf(reason, size,
                 "%" PRId64 " classes were loaded: jmethodIDs for all would be %" PRId64 " MB",
                 loaded, cost_mb);
    } else if (churn != NULL) {
        say(out, SUITABILITY_CAUTION);
        snprintf(
            reason, size,
            "classes of %.120s come and go: on JDK 8 to 25 half of their jmethodIDs stays for ever",
            churn->family);
    } else if (counted && loaded > ORDINARY_CLASSES) {
        say(out, SUITABILITY_CAUTION);
        snprintf(reason, size,
                 "%" PRId64 " classes were loaded: jmethodIDs for all would be %" PRId64
                 " MB; watch that it converges",
                 loaded, cost_mb);
    } else if (still_loading(dossier, &per_s)) {
        say(out, SUITABILITY_CAUTION);
        snprintf(reason, size,
                 "%.1f classes/s were loaded between the looks: too short to tell whether it ends",
                 per_s);
    } else if (counted) {
        say(out, SUITABILITY_APPROPRIATE);
        snprintf(reason, size,
                 "%" PRId64 " classes loaded, %" PRId64 " unloaded, none generated without end: "
                 "jmethodIDs for all would be %" PRId64 " MB",
                 loaded, unloaded, cost_mb);
    } else {
        say(out, SUITABILITY_CAUTION);
        snprintf(reason, size, "the number of classes is not known from what was given");
    }
}
