/* live: a triage of a running JVM: questions in order of their cost, a watch of its class loads in
 * between, the same questions again.
 *
 * Each answer is kept as a text in the folder and fed to the reader of saved texts
 * (analyzers/triage/facts_read.h): `nmtwatch analyze` on the folder sees what was seen live. Only
 * the watch adds what texts cannot: who loads classes now, by the class-load log of the JVM, which
 * a guard switches off again even when nmtwatch is killed (nmtwatch/watch/load_log.h).
 *
 * A gentle triage stops the JVM for LIVE_GENTLE_PAUSE_US at most in all, by prediction and by
 * measurement of each step; what does not fit is left out and says so.
 *
 *   live_run -> facts, triage, steps -> live_free
 *
 * Setup context; blocks for the time of the watch. SIGINT ends the watch early: what is there is
 * judged. */
#pragma once

#include "analyzers/triage/facts.h"
#include "analyzers/triage/triage.h"
#include "nmtwatch/jvm/target.h"
#include "nmtwatch/watch/watcher.h"
#include "reports/diagnosis/triage_report.h"

#define LIVE_GENTLE_PAUSE_US   40000
#define LIVE_THOROUGH_PAUSE_US 2000000
#define LIVE_STEPS_MAX         40
#define LIVE_TEXT_MAX          (16 << 20) /* of a kept text; the rest is cut off */

struct live_options {
    int64_t for_ms; /* of the watch */
    bool thorough;
    bool gc;            /* a full GC before the last measurement */
    const char *folder; /* raw texts go to FOLDER/raw; exists */
    bool keep_secrets;  /* passwords and tokens of command lines are not replaced (redact.h) */
    int timeout_ms;
    bool progress; /* on stderr */
    struct watch_options watch;
};

struct live {
    struct facts_reader *reader;
    struct jvm_facts *facts; /* of the reader */
    struct triage triage;
    int secrets; /* replaced in the texts; those that were fed have none either */
    int step_count;
    struct triage_step steps[LIVE_STEPS_MAX];
    int alert_count;
    struct finding alerts[TRIAGE_FINDINGS_MAX];
    struct texts texts;          /* theirs */
    char load_log_off_hint[160]; /* how to switch the log off by hand */
};

/* FAILURE_NONE, or why the JVM could not be asked at all. The target is the caller's. */
enum failure_kind live_run(struct live *live, const struct target *target,
                           const struct live_options *options, struct failure *failure);
void live_free(struct live *live);
