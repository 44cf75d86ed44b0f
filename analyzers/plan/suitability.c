#include "analyzers/plan/suitability.h"

#include "analyzers/model/units.h"
#include "analyzers/native/internal.h"

#include <inttypes.h>
#include <stdio.h>

#define MB 1048576.0

const char *suitability_name(enum suitability suitability)
{
    static const char *const names[] = {[SUITABILITY_APPROPRIATE] = "APPROPRIATE",
                                        [SUITABILITY_CAUTION] = "CAUTION",
                                        [SUITABILITY_NOT_APPROPRIATE] = "NOT APPROPRIATE"};
    return names[suitability];
}

void suitability_take_level(struct suitability_facts *facts, const struct level *levels, int count,
                            char *words, size_t size)
{
    for (int i = 0; i < count; i++) {
        bool excludes =
            level_severity(&levels[i]) == SEVERITY_CRITICAL && level_holds_method_ids(&levels[i]);
        if (facts->level != NULL && (facts->level_excludes || !excludes))
            continue;
        snprintf(words, size, "%s: %s since %s", levels[i].name,
                 units_growth(levels[i].growth_bytes).text,
                 levels[i].since != NULL ? levels[i].since : "the JVM's start");
        facts->level = words;
        facts->level_excludes = excludes;
    }
}

static double ids_mb(const struct suitability_facts *facts)
{
    if (facts->ids_per_class > 0.0)
        return facts->ids_per_class * (double)facts->loaded / MB;
    int64_t loaders = facts->loaders > 0 ? facts->loaders : facts->loaded > 0 ? facts->loaded : 1;
    struct jmethodid_cost cost =
        jmethodid_cost(facts->jdk_major,
                       (struct jmethodid_load){facts->loaded, facts->methods_per_class, loaders});
    return (double)jmethodid_loaded_bytes(&cost) / MB;
}

static struct units_text megabytes(double mb)
{
    return units_bytes((int64_t)(mb * MB + 0.5));
}

static const struct suitability_load_row load_rows[SUITABILITY_LOAD_COUNT] = {
    [SUITABILITY_LOAD_ORDINARY] = {"ordinary", "10 000 to 100 000 classes"},
    [SUITABILITY_LOAD_MODERATE] = {"moderate", "100 000 to 1 000 000 classes"},
    [SUITABILITY_LOAD_HIGH] = {"churn", "a million classes and more"},
    [SUITABILITY_LOAD_EXTREME] = {"extreme", "ten million classes and more"},
};

const struct suitability_load_row *suitability_load_row(enum suitability_load load)
{
    return &load_rows[load];
}

enum suitability_load suitability_load_of(int64_t loaded)
{
    return loaded >= SUITABILITY_EXTREME_CLASSES   ? SUITABILITY_LOAD_EXTREME
           : loaded > SUITABILITY_MODERATE_CLASSES ? SUITABILITY_LOAD_HIGH
           : loaded > SUITABILITY_ORDINARY_CLASSES ? SUITABILITY_LOAD_MODERATE
                                                   : SUITABILITY_LOAD_ORDINARY;
}

static enum suitability by_count(int64_t loaded)
{
    return loaded >= SUITABILITY_MILLIONS_CLASSES  ? SUITABILITY_NOT_APPROPRIATE
           : loaded > SUITABILITY_MODERATE_CLASSES ? SUITABILITY_CAUTION
                                                   : SUITABILITY_APPROPRIATE;
}

/* What the document accepts, in bytes: 1 GB for a million classes. */
static enum suitability by_cost(double mb)
{
    return mb >= 2048.0  ? SUITABILITY_NOT_APPROPRIATE
           : mb > 1024.0 ? SUITABILITY_CAUTION
                         : SUITABILITY_APPROPRIATE;
}

/* The number of classes decided. */
static void compare_costs(const struct suitability_facts *facts,
                          struct suitability_verdict *verdict)
{
    double mb = ids_mb(facts);
    verdict->by_costs = by_cost(mb);
    if (verdict->by_costs != verdict->suitability)
        snprintf(verdict->costs_reason, sizeof verdict->costs_reason,
                 "jmethodIDs are measured to take %s, the documented 68 bytes a method come to %s",
                 megabytes(mb).text,
                 megabytes((double)facts->loaded * facts->methods_per_class * 68.0 / MB).text);
}

static void too_many(const struct suitability_facts *facts, struct suitability_verdict *verdict)
{
    verdict->suitability = SUITABILITY_NOT_APPROPRIATE;
    snprintf(verdict->reason, sizeof verdict->reason,
             "%s classes in all: jmethodIDs for all would be %s; profile in staging, or find what "
             "generates classes",
             units_count(facts->loaded).text, megabytes(ids_mb(facts)).text);
    compare_costs(facts, verdict);
}

/* When nothing else decides. */
static void by_count_alone(const struct suitability_facts *facts,
                           struct suitability_verdict *verdict)
{
    struct units_text loaded = units_count(facts->loaded);
    verdict->suitability = by_count(facts->loaded);
    if (verdict->suitability == SUITABILITY_NOT_APPROPRIATE) {
        too_many(facts, verdict);
        return;
    }
    if (facts->loaded > SUITABILITY_ORDINARY_CLASSES)
        snprintf(verdict->reason, sizeof verdict->reason,
                 "%s classes in all: jmethodIDs for all would be %s; watch that Internal "
                 "converges",
                 loaded.text, megabytes(ids_mb(facts)).text);
    else
        snprintf(verdict->reason, sizeof verdict->reason,
                 "%s classes loaded, %s unloaded, none generated without end: jmethodIDs for "
                 "all would be %s",
                 loaded.text, units_count(facts->unloaded).text, megabytes(ids_mb(facts)).text);
    compare_costs(facts, verdict);
}

void suitability_judge(const struct suitability_facts *facts, struct suitability_verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    int64_t loaded = facts->loaded;
    char *reason = verdict->reason;
    const size_t size = sizeof verdict->reason;
    verdict->suitability = SUITABILITY_NOT_APPROPRIATE;
    if (facts->explosion != NULL) {
        snprintf(reason, size,
                 "classes are generated without end (%.120s): fix the application first",
                 facts->explosion);
    } else if (facts->loader_leak) {
        snprintf(reason, size, "class loaders leak: classes are never unloaded");
    } else if (facts->counted &&
               (loaded >= SUITABILITY_EXTREME_CLASSES ||
                by_count(loaded - facts->unloaded) == SUITABILITY_NOT_APPROPRIATE)) {
        too_many(facts, verdict);
    } else if (facts->level != NULL) {
        snprintf(reason, size, "%.160s: find what holds it first", facts->level);
        if (!facts->level_excludes)
            verdict->suitability = SUITABILITY_CAUTION;
    } else if (facts->churn != NULL) {
        verdict->suitability = SUITABILITY_CAUTION;
        snprintf(
            reason, size,
            "classes of %.120s come and go: on JDK 8 to 25 half of their jmethodIDs is never freed",
            facts->churn);
    } else if (facts->loading_per_s >= SUITABILITY_LOADING_PER_S) {
        verdict->suitability = SUITABILITY_CAUTION;
        snprintf(reason, size,
                 "%.1f classes/s were loaded between the two measurements: too short to decide "
                 "whether it ends",
                 facts->loading_per_s);
    } else if (!facts->counted) {
        verdict->suitability = SUITABILITY_CAUTION;
        snprintf(reason, size, "the number of classes is not known from what was given");
    } else {
        by_count_alone(facts, verdict);
    }
}
