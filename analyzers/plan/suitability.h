/*
 * suitability: may a profiler that preallocates jmethodIDs run on this application?
 *
 * The one place of the documented limits, for a look at a live JVM (triage) and for one that is
 * only planned (plan): up to 100 000 classes loaded in all is ordinary; up to ten million is for
 * those who watch that it converges, a million of them being what the documented design calls high
 * churn; more, classes without end, or class loaders that leak, is not for it.
 *
 * Pure; any thread.
 */
#ifndef ANALYZERS_PLAN_SUITABILITY_H
#define ANALYZERS_PLAN_SUITABILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUITABILITY_ORDINARY_CLASSES INT64_C(100000)
#define SUITABILITY_CHURN_CLASSES    INT64_C(1000000)
#define SUITABILITY_EXTREME_CLASSES  INT64_C(10000000)
/* Slower than this nobody calls it a generator: a day of it is 170 000 classes. */
#define SUITABILITY_LOADING_PER_S    2.0

/* Values are the exit codes of `nmtwatch plan`. */
enum suitability {
    SUITABILITY_APPROPRIATE = 0,
    SUITABILITY_CAUTION = 1,
    SUITABILITY_NOT_APPROPRIATE = 2,
};
const char *suitability_name(enum suitability suitability); /* "APPROPRIATE" "CAUTION" ... */

struct suitability_facts {
    int jdk_major;            /* 0: not known */
    double methods_per_class; /* for what jmethodIDs of all classes would cost */
    int64_t loaders;          /* 0: one for each class */
    bool counted;             /* the next two are known */
    int64_t loaded;           /* classes in all, since the start or up to the end of the plan */
    int64_t unloaded;
    const char *explosion; /* who generates classes without end; NULL: nobody; borrowed */
    bool loader_leak;
    const char *level;   /* native memory that is far too large, in words; NULL: none; borrowed */
    bool level_excludes; /* it is so large that nothing may come on top; else it is to be watched */
    const char *churn;   /* whose classes come and go; NULL: nobody's */
    double loading_per_s; /* between two looks; below 0: not known */
};

/* reason: one sentence without a full stop. */
enum suitability suitability_judge(const struct suitability_facts *facts, char *reason,
                                   size_t size);

#endif
