/*
 * suitability: may a profiler that preallocates jmethodIDs run on this application?
 *
 * The one place of the documented limits, for a live JVM (triage) and for one that is only
 * planned (plan). By classes loaded in all:
 *
 *   to 100 000       ordinary   APPROPRIATE
 *   to 1 000 000     moderate   APPROPRIATE, watch that it converges
 *   below 2 million  high       CAUTION: about 1 GB, "acceptable in some cases"
 *   millions         high       NOT APPROPRIATE
 *   from 10 million  extreme    NOT APPROPRIATE
 *
 * Classes without end and class loaders that leak are NOT APPROPRIATE at any number. The document counts 68
 * bytes of jmethodIDs a method; what they cost by measurement is judged apart, by what the document accepts
 * in bytes, and given where it comes to another verdict.
 *
 * Pure; any thread.
 */
#pragma once

#include "analyzers/judge/level.h"

#define SUITABILITY_ORDINARY_CLASSES INT64_C(100000)
#define SUITABILITY_MODERATE_CLASSES INT64_C(1000000)
#define SUITABILITY_MILLIONS_CLASSES INT64_C(2000000)
#define SUITABILITY_EXTREME_CLASSES  INT64_C(10000000)

/* Which of the documented ranges holds for this number of classes loaded in all. */
enum suitability_load {
    SUITABILITY_LOAD_ORDINARY,
    SUITABILITY_LOAD_MODERATE,
    SUITABILITY_LOAD_HIGH,
    SUITABILITY_LOAD_EXTREME,
    SUITABILITY_LOAD_COUNT,
};
struct suitability_load_row {
    const char *key;     /* "ordinary" */
    const char *classes; /* "10 000 to 100 000 classes" */
};
enum suitability_load suitability_load_of(int64_t loaded);
const struct suitability_load_row *suitability_load_row(enum suitability_load load);

/* A slower rate is not called a generator: a day of it is 170 000 classes. */
#define SUITABILITY_LOADING_PER_S 2.0

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
    double ids_per_class;     /* its bytes, where the classes were counted; 0: by the two above */
    bool counted;             /* the next two are known */
    int64_t loaded;           /* classes in all, since the start or up to the end of the plan */
    int64_t unloaded;
    const char *explosion; /* who generates classes without end; NULL: nobody; borrowed */
    bool loader_leak;
    const char *level;   /* native memory that is far too large, in words; NULL: none; borrowed */
    bool level_excludes; /* it is so large that nothing may come on top; else it is to be watched */
    const char *churn;   /* whose classes come and go; NULL: nobody's */
    double loading_per_s; /* between two measurements; below 0: not known */
};

/* The level that says most against a profiler (its ids are of Internal and Class), if any. words is
 * what the facts borrow. */
void suitability_take_level(struct suitability_facts *facts, const struct level *levels, int count,
                            char *words, size_t size);

/* Both are sentences without a full stop. */
struct suitability_verdict {
    enum suitability suitability;
    char reason[300];
    /* of the number of classes alone, by what jmethodIDs are measured to cost */
    enum suitability by_costs;
    /* "": it is the same verdict, or the number of classes did not decide */
    char costs_reason[200];
};
void suitability_judge(const struct suitability_facts *facts, struct suitability_verdict *verdict);
