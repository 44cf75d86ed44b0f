#include "nmtwatch/soak/soak_outcome.h"

#include "nmtwatch/record/recording.h"
#include "reports/text/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- recorded trial --------------------------------------------------------------------------- */

static void feed(struct replay *replay, struct recorded_trial *recorded)
{
    struct judge_view view;
    while (replay_next(replay)) {
        for (int i = 0; i < replay->alerts.count; i++)
            trial_alert(recorded->trial, &replay->alerts.alert[i]);
        judge_view(replay->judge, &view);
        trial_event(recorded->trial, &replay->event, &view);
        if (replay->event.kind == EVENT_GONE)
            snprintf(recorded->gone, sizeof recorded->gone, "%s", replay->event.text);
    }
    if (recording_damage(replay->recording) != NULL)
        snprintf(recorded->damage, sizeof recorded->damage, "%s",
                 recording_damage(replay->recording));
}

bool recorded_trial_read(const char *path, const struct budgets *budgets,
                         struct recorded_trial *recorded, char *error, size_t error_size)
{
    struct replay replay;
    memset(recorded, 0, sizeof *recorded);
    if (!replay_open(&replay, path, error, error_size))
        return false;
    recorded->wall_start_ms = replay.header->wall_start_ms;
    recorded->trial = trial_create(&replay.header->target, budgets);
    if (recorded->trial != NULL)
        feed(&replay, recorded);
    else
        snprintf(error, error_size, "out of memory");
    replay_close(&replay);
    return recorded->trial != NULL;
}

static bool add_result(struct soak_outcome *outcome, const struct trial *trial,
                       const struct trial *reference, const char *recording)
{
    struct soak_result *result = malloc(sizeof *result);
    if (result == NULL)
        return false;
    trial_result(trial, reference, result);
    outcome->recordings[outcome->count] = recording;
    outcome->results[outcome->count++] = result;
    return true;
}

static int64_t judged_ms(const struct soak_result *result)
{
    return result->warm ? result->last_ms - result->baseline_ms : 0;
}

static bool speaks_before(const struct soak_result *a, const struct soak_result *b)
{
    bool a_fails = a->answer == SOAK_FAIL, b_fails = b->answer == SOAK_FAIL;
    if (a_fails != b_fails)
        return a_fails;
    if (judged_ms(a) != judged_ms(b))
        return judged_ms(a) > judged_ms(b);
    return a->last_ms > b->last_ms;
}

/* Chief and answer, once the results and the reason stand. */
static void sum_up(struct soak_outcome *outcome)
{
    struct soak_summary *summary = &outcome->summary;
    summary->count = outcome->count;
    summary->results = (const struct soak_result *const *)outcome->results;
    summary->recordings = outcome->recordings;
    summary->reason = outcome->reason;
    summary->death = outcome->death;
    summary->chief = -1;
    for (int i = 0; i < outcome->count; i++) {
        if (summary->chief < 0 ||
            speaks_before(outcome->results[i], outcome->results[summary->chief]))
            summary->chief = i;
    }
    summary->answer =
        summary->chief < 0 ? SOAK_UNDECIDED : outcome->results[summary->chief]->answer;
    if (summary->answer == SOAK_PASS && outcome->reason[0] != '\0')
        summary->answer = SOAK_UNDECIDED;
}

/* Why NMT had nothing to say of this JVM. */
static void explain_blindness(const struct soak_run *run, const struct soak_jvm *jvm, char *out,
                              size_t size)
{
    struct watcher_counts counts = watcher_counts(jvm->watched->watcher);
    struct failure failure;
    char who[32];
    const struct target *target = watcher_target(jvm->watched->watcher);
    snprintf(who, sizeof who, "pid %d", (int)target->pid);
    enum failure_kind kind = counts.last_failure;
    if (counts.questions > 0 || kind == FAILURE_NONE)
        kind = FAILURE_NMT_OFF;
    if (kind == FAILURE_GONE) {
        snprintf(out, size, "%s ended before it could be asked", who);
        return;
    }
    failure_set(&failure, kind, who, NULL);
    snprintf(out, size, "%s%s", failure.sentence,
             kind == FAILURE_NMT_OFF && run->child.pid > 0 && !run->options->nmt
                 ? ", or let nmtwatch soak --nmt ask for it"
                 : "");
}

static void explain(struct soak_outcome *outcome, const struct soak_run *run)
{
    const struct soak_jvm *longest = NULL;
    const struct soak_result *result = NULL;
    for (int i = 0; i < outcome->count; i++) {
        if (result == NULL || speaks_before(outcome->results[i], result)) {
            result = outcome->results[i];
            longest = &run->jvms[i];
        }
    }
    if (result == NULL && run->failure[0] != '\0')
        snprintf(outcome->reason, sizeof outcome->reason, "%s", run->failure);
    else if (result == NULL)
        snprintf(outcome->reason, sizeof outcome->reason, "no JVM was found%s%s",
                 run->child.pid > 0 ? " among what the command started; " : "", outcome->death);
    else if (child_failed(&run->child))
        snprintf(outcome->reason, sizeof outcome->reason, "%s", outcome->death);
    else if (!result->have_nmt)
        explain_blindness(run, longest, outcome->reason, sizeof outcome->reason);
    else if (run->end == SOAK_END_GONE)
        snprintf(outcome->reason, sizeof outcome->reason, "pid %lld ended after %s",
                 (long long)result->identity.pid, units_duration(result->last_ms).text);
}

struct soak_outcome *soak_outcome_of_run(const struct soak_run *run, const struct trial *reference)
{
    struct soak_outcome *outcome = calloc(1, sizeof *outcome);
    if (outcome == NULL)
        return NULL;
    for (int i = 0; i < run->jvm_count; i++) {
        if (!add_result(outcome, run->jvms[i].trial, reference, run->jvms[i].recording)) {
            soak_outcome_destroy(outcome);
            return NULL;
        }
    }
    if (run->child.pid > 0)
        child_death(&run->child, outcome->death, sizeof outcome->death);
    outcome->summary.failed_command = child_failed(&run->child);
    outcome->summary.wall_start_ms = run->wall_start_ms;
    outcome->summary.duration_ms = run->now_ms;
    explain(outcome, run);
    sum_up(outcome);
    return outcome;
}

struct soak_outcome *soak_outcome_of_trial(const struct trial *trial, const char *path,
                                           const char *gone, const struct trial *reference)
{
    struct soak_outcome *outcome = calloc(1, sizeof *outcome);
    if (outcome == NULL || !add_result(outcome, trial, reference, path)) {
        free(outcome);
        return NULL;
    }
    snprintf(outcome->reason, sizeof outcome->reason, "%s", gone);
    outcome->summary.duration_ms = trial_last_ms(trial);
    sum_up(outcome);
    return outcome;
}

void soak_outcome_destroy(struct soak_outcome *outcome)
{
    if (outcome == NULL)
        return;
    for (int i = 0; i < outcome->count; i++)
        free(outcome->results[i]);
    free(outcome);
}
