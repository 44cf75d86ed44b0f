/*
 * level: how far each category of NMT is above where it began, in the three documented steps.
 *
 * The one judge of levels: check, triage, analyze and, through it, suitability ask here. The steps
 * are thresholds of Internal (500 MB, 2 GB, 10 GB); they hold for every category that can leak. The
 * size a category began with is a baseline, an earlier look, or, where there is neither, what
 * levels.def expects of a JVM at its start.
 *
 * Likewise the step of the agent's circuit breaker. Bytes are committed ones. Pure; any thread.
 */
#pragma once

#include "analyzers/judge/finding.h"

#define LEVEL_STEPS 3
#define LEVELS_MAX  (NMT_CATEGORY_COUNT + SAMPLE_EXTRA_CATEGORIES)

/* Step 1 to 3 of a finding of Internal; 0: the kind is no such step. And back. */
int level_step_of(enum finding_kind kind);
enum finding_kind level_step_kind(int step);
enum threshold level_step_threshold(int step);

#define LEVEL_SINCE_BASELINE "the baseline"

/* Two moments that are compared. A category that `before` lacks is not compared. */
struct level_pair {
    const struct sample *now;
    const struct sample *before; /* NULL: the start of the JVM, as levels.def expects it */
    const char *since;           /* for the title; unused without `before` */
};

struct level {
    enum finding_kind kind;
    enum nmt_category category; /* NMT_NOT_IN_TABLE: known by its name only */
    char name[48];              /* "Internal + JNI" */
    int64_t bytes;
    int64_t growth_bytes;
    int64_t threshold_bytes;
    int step;          /* 1 to LEVEL_STEPS */
    const char *since; /* of the pair; NULL: the start */
};

/* Levels above the first step, of several pairs the worst of each category; the worst first.
 * Returns how many, at most LEVELS_MAX. */
int levels_judge(int jdk_major, const struct thresholds *thresholds, const struct level_pair *pairs,
                 int pair_count, struct level levels[LEVELS_MAX]);
/* WARNING at the first step, CRITICAL above. */
enum severity level_severity(const struct level *level);
/* jmethodIDs of a profiler come on top of this category. */
bool level_holds_method_ids(const struct level *level);

/* The step that the circuit breaker of libnmtagent.so has reached (SAMPLE_AGENT_BREAKER), as a
 * finding: the alert of a watch and `check` report the same. */
#define AGENT_BREAKER_STEPS 4
/* "warned" "shedding" "silent" "stopped"; step 1 to AGENT_BREAKER_STEPS. */
const char *agent_breaker_step_name(int step);
/* 0: there is no agent, or it has not given way. */
int agent_breaker_step(const struct sample *sample);
/* For a step above 0. */
void agent_shedding_finding(const struct sample *sample, struct texts *texts,
                            struct finding *finding);

/*
 * check: one measurement of a JVM, judged without a history.
 *
 * What one measurement shows: levels, averages over the JVM's life, the types of its class loaders, and
 * growth against a baseline taken earlier. What it cannot know it says: with NMT off, or when a
 * part could not be had, the answer is UNKNOWN and never OK.
 *
 * Pure; any thread.
 */
enum check_status { CHECK_OK, CHECK_WARNING, CHECK_CRITICAL, CHECK_UNKNOWN }; /* = exit codes */
const char *check_status_name(enum check_status status);

struct check_input {
    const struct target_identity *identity;
    const struct thresholds *thresholds;
    const struct sample *sample;
    const struct sample *baseline; /* NULL: none */
    /* What levels are counted from, when it is more than the baseline; 0: the baseline. */
    const struct level_pair *level_pairs;
    int level_pair_count;
    const struct loaders_event *loaders; /* NULL: not asked */
    const char *missing;                 /* why the data is partial; NULL or "" when it is whole */
};

#define CHECK_FINDINGS_MAX 16

struct check_result {
    enum check_status status;
    char reason[400]; /* one sentence */
    int finding_count;
    struct finding findings[CHECK_FINDINGS_MAX]; /* worst first */
    struct texts texts;                          /* theirs */
};

/* The result is all zero, or one of before, whose texts are freed. */
void check_jvm(const struct check_input *input, struct check_result *result);
void check_result_free(struct check_result *result);
