/*
 * check: one look at a JVM, judged without a history.
 *
 * What one look can know: levels, averages over the JVM's life, the types of its class loaders, and
 * growth against a baseline taken earlier. What it cannot know it says: with NMT off, or when a
 * part could not be had, the answer is UNKNOWN and never OK.
 *
 * Pure; any thread.
 */
#ifndef ANALYZERS_JUDGE_CHECK_H
#define ANALYZERS_JUDGE_CHECK_H

#include "analyzers/judge/finding.h"
#include "analyzers/judge/level.h"

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

#endif
