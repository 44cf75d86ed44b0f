/*
 * judge: events of one JVM in, alerts out. The same code for live, replay, report.
 *
 * The problem: a JVM that starts up loads thousands of classes and stops; a JVM that explodes loads
 * a few of the same kind every second and never stops. The judge therefore waits for a rate that
 * *stays*, asks the names who it is (analyzers/classes), and asks the unloads whether anything
 * comes back (a leak) or all of it (churn). Growth of memory is measured from a baseline taken when
 * warm-up has ended; how it ended is part of every alert.
 *
 * One alert an episode: raised once, updated never, cleared once after CLEAR_AFTER_S below
 * CLEAR_PERCENT of its threshold.
 *
 *   judge_create -> judge_feed ... -> judge_destroy
 *
 * Deterministic: no clock, no file, no environment; equal events and thresholds give equal alerts.
 * Memory is bounded, whatever is fed. Calling context: one thread per judge.
 */
#pragma once

#include "analyzers/judge/finding.h"
#include "analyzers/model/event.h"
#include "analyzers/trend/verdict.h"

struct judge;

enum alert_state { ALERT_RAISED, ALERT_CLEARED };

struct alert {
    enum alert_state state;
    int64_t ms;         /* of the event that decided */
    int64_t started_ms; /* of the episode, as far as it is known */
    struct finding finding;
};

/* What one event has raised and cleared, in this order. An event clears each of the judge's 48
 * episodes at most once and raises each at most twice. */
#define EPISODES_MAX     48 /* alerts that are active at once */
#define JUDGE_ALERTS_MAX (3 * EPISODES_MAX)
struct alerts {
    int count;
    struct alert alert[JUDGE_ALERTS_MAX];
};

/* warmup_s < 0: automatic. NULL when out of memory. */
struct judge *judge_create(const struct target_identity *identity,
                           const struct thresholds *thresholds, int64_t warmup_s);
/* alerts: the caller's list, emptied and filled; the texts of its findings are valid until the
 * judge is fed again or destroyed. */
void judge_feed(struct judge *judge, const struct event *event, struct alerts *alerts);

/* What the judge holds at this moment, for tables, ticks and pages. */
struct judge_view {
    bool warm;              /* warm-up has ended */
    int64_t baseline_ms;    /* when the baseline was taken; -1 not yet */
    char warmup_reason[96]; /* "class loads fell below 2/s", "60 s as asked", ... */
    bool have_rates;
    double load_per_s;   /* over the last ten seconds */
    double unload_per_s; /* over the last minute: nothing unloads before a GC */
    double net_per_s;
    bool have_internal;
    int64_t internal_bytes; /* what Internal means on this JDK (analyzers/native/internal.h) */
    int64_t internal_growth_bytes;
    struct verdict internal_verdict; /* at most a minute old; points 0: none yet */
    bool have_class_metaspace;
    int64_t class_metaspace_bytes;
    int64_t class_metaspace_growth_bytes;
    struct verdict class_metaspace_verdict; /* likewise */
    int64_t
        metaspace_left_s; /* to MaxMetaspaceSize at the present pace; -1: not on its way there */
    int active_alerts;
    enum severity worst_active;
    enum severity worst_ever; /* SEVERITY_INFO: no alert so far */
};
void judge_view(const struct judge *judge, struct judge_view *view);

/* What is active, each with the time it was raised; returns how many were written. Texts are valid
 * as those of judge_feed. */
int judge_active_alerts(const struct judge *judge, struct alert *out, int max);

/* Would names help now? A watch asks this before it pays for class counts: true while the
 * class-load rate has stayed above SUSPICION_RATE_PER_S for some seconds and no family explains
 * it yet. */
bool judge_wants_names(const struct judge *judge);
/* Whether an alert waits for another observation of callers: the last one did not see its family. */
bool judge_wants_callers(const struct judge *judge);

/* True while an alert about this family is active. */
bool judge_has_named(const struct judge *judge, const char *family);

void judge_destroy(struct judge *judge);

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
 * Ownership: plain data; the texts of findings are those of the judge, until it is fed again, or of the
 * reader of a saved memory. 30 KB, so on the heap. One thread.
 */
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

/*
 * name_owner: the note by which a watch informs its judge that a JVM asked for a name that is another
 * user's, or a container's. The judge makes a finding of it, live and from a recording. Pure.
 */
struct name_owner {
    const char *name;     /* that it asked for */
    const char *owner;    /* "user bank", "user bank in a container" */
    const char *newcomer; /* likewise */
    const char *label;    /* that it got */
};

/* The note of a watch that was asked for a new baseline: warm-up is over, and growth of memory and of class
 * loaders is counted from there, live and from a recording. */
#define BASELINE_ANEW_NOTE "new baseline, as asked"

/* The text of an EVENT_NOTE. */
void name_owner_note(char *out, size_t size, const struct name_owner *owner);
