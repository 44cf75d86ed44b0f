/*
 * judge_resume: what a judge has to remember beyond the life of its process, and the way back.
 *
 *   judge_remember(judge, &memory) ... a restart ... judge_create -> judge_resume(judge, &memory)
 *
 * Kept are decisions: that warm-up is over, the baselines, the alerts that are up. Not kept are the
 * series behind them: rates are known again after seconds, a verdict after its shortest span. An
 * alert that was up stays up without being raised again, and clears when its figure falls.
 * Times go on counting where they stood: the one who resumes feeds events whose ms continue.
 *
 * Ownership: plain data; the texts of findings are those of the judge, until it is fed again, or of
 * whoever read the memory from a file. 30 KB, so on the heap. One thread.
 */
#ifndef ANALYZERS_JUDGE_JUDGE_RESUME_H
#define ANALYZERS_JUDGE_JUDGE_RESUME_H

#include "analyzers/judge/judge.h"

#define JUDGE_MEMORY_EPISODES 48
#define JUDGE_MEMORY_LOADERS  64

struct judge_memory {
    bool warm;
    int64_t baseline_ms; /* -1: not yet */
    char warmup_reason[96];
    bool have_internal_baseline;
    int64_t internal_baseline_bytes;
    bool have_class_metaspace_baseline;
    int64_t class_metaspace_baseline_bytes;
    bool internal_growing; /* its alarm is up */
    enum severity worst_ever;
    bool loaders_have_baseline;
    int loader_count;
    struct {
        char type[EVENT_NAME_MAX];
        int64_t baseline;
    } loaders[JUDGE_MEMORY_LOADERS];
    int episode_count; /* those that are up */
    struct {
        char subject[EVENT_FAMILY_MAX];
        int64_t raised_ms;
        struct finding finding;
    } episodes[JUDGE_MEMORY_EPISODES];
};

void judge_remember(const struct judge *judge, struct judge_memory *memory);
/* The texts of its findings are in these from now on: it may outlive the judge. */
void judge_memory_keep(struct judge_memory *memory, struct texts *texts);
/* Right after judge_create. Memory that came from a file is cut to its limits. */
void judge_resume(struct judge *judge, const struct judge_memory *memory);

#endif
