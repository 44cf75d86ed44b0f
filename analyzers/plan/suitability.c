#include "analyzers/plan/suitability.h"

#include "analyzers/native/jmethodid_cost.h"

#include <inttypes.h>
#include <stdio.h>

#define MB 1048576.0

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

static double ids_mb(const struct suitability_facts *facts)
{
    int64_t loaders = facts->loaders > 0 ? facts->loaders : facts->loaded > 0 ? facts->loaded : 1;
    struct jmethodid_cost cost =
        jmethodid_cost(facts->jdk_major,
                       (struct jmethodid_load){facts->loaded, facts->methods_per_class, loaders});
    return (double)jmethodid_loaded_bytes(&cost) / MB;
}

enum suitability suitability_judge(const struct suitability_facts *facts, char *reason, size_t size)
{
    int64_t loaded = facts->loaded;
    if (facts->explosion != NULL) {
        snprintf(reason, size,
                 "classes are generated without end (%.120s): fix the application first",
                 facts->explosion);
        return SUITABILITY_NOT_APPROPRIATE;
    }
    if (facts->loader_leak) {
        snprintf(reason, size, "class loaders leak: classes are never unloaded");
        return SUITABILITY_NOT_APPROPRIATE;
    }
    if (facts->counted && loaded >= SUITABILITY_EXTREME_CLASSES) {
        snprintf(reason, size, "%" PRId64 " classes in all: jmethodIDs for all would be %.1f MB",
                 loaded, ids_mb(facts));
        return SUITABILITY_NOT_APPROPRIATE;
    }
    if (facts->level != NULL) {
        snprintf(reason, size, "%.160s: find what holds it first", facts->level);
        return facts->level_excludes ? SUITABILITY_NOT_APPROPRIATE : SUITABILITY_CAUTION;
    }
    if (facts->churn != NULL) {
        snprintf(
            reason, size,
            "classes of %.120s come and go: on JDK 8 to 25 half of their jmethodIDs is never freed",
            facts->churn);
        return SUITABILITY_CAUTION;
    }
    if (facts->counted && loaded > SUITABILITY_ORDINARY_CLASSES) {
        snprintf(reason, size,
                 "%" PRId64
                 " classes in all: jmethodIDs for all would be %.1f MB; watch that it converges",
                 loaded, ids_mb(facts));
        return SUITABILITY_CAUTION;
    }
    if (facts->loading_per_s >= SUITABILITY_LOADING_PER_S) {
        snprintf(reason, size,
                 "%.1f classes/s were loaded between the two measurements: too short to tell "
                 "whether it ends",
                 facts->loading_per_s);
        return SUITABILITY_CAUTION;
    }
    if (!facts->counted) {
        snprintf(reason, size, "the number of classes is not known from what was given");
        return SUITABILITY_CAUTION;
    }
    snprintf(reason, size,
             "%" PRId64 " classes loaded, %" PRId64 " unloaded, none generated without end: "
             "jmethodIDs for all would be %.1f MB",
             loaded, facts->unloaded, ids_mb(facts));
    return SUITABILITY_APPROPRIATE;
}
