/*
 * trial: one JVM on trial: its series with their verdicts, its alerts, its budgets.
 *
 *   trial_create -> trial_event / trial_alert / trial_counter ... -> trial_result -> trial_destroy
 *
 * Fed with events, as the judge is, so that a soak and the judging of a recording are the same
 * code. Growth counts from the judge's baseline on: what the JVM does while it warms up is not held
 * against it, except heights, which are never to be passed.
 *
 * Memory: about 40 series of 32 KB at most, beside their verdicts. One thread.
 */
#pragma once

#include "analyzers/judge/judge.h"
#include "analyzers/soak/estimate.h"
#include "analyzers/trend/verdict.h"

#define SOAK_ALERTS_MAX 24
#define LINE_BUDGETS    4
#define SOAK_REASON_MAX 240

/* Against an earlier recording: new - old, at the same age. */
struct soak_change {
    bool compared;
    enum soak_answer answer;
    struct estimate slope; /* per hour */
    struct estimate level;
    double slope_margin; /* what is let pass */
    double level_margin;
};

struct soak_line {
    enum soak_series series;
    char key[SOAK_KEY_MAX];
    const char *title;
    enum soak_unit unit;
    bool decides; /* counts for the answer, undecided included */
    bool watched; /* counts when it fails */
    enum soak_answer answer;
    struct verdict verdict; /* its sentence speaks of bytes: not to be shown for counts */
    int outcome_count;
    struct budget_outcome outcomes[LINE_BUDGETS];
    struct estimate per_iteration; /* known when there is a counter that moved */
    struct soak_change change;
    const struct points *points; /* its course, which lives as long as the trial */
};

struct soak_result {
    enum soak_answer answer;
    struct target_identity identity;
    bool warm;
    bool have_nmt;
    char warmup_reason[96];
    int64_t baseline_ms; /* -1: warm-up had not ended */
    int64_t last_ms;
    bool counted; /* --per: numbers came */
    double counter_from, counter_to;
    bool compared;                 /* against another recording; then that is what decides */
    int64_t compared_ms;           /* the common span after warm-up */
    char against[SOAK_REASON_MAX]; /* why a comparison says little; empty when it does not */
    int line_count;
    struct soak_line lines[SOAK_SERIES_COUNT];
    int alert_count; /* raised; owned by the trial */
    const struct alert *alerts;
    bool alert_fails[SOAK_ALERTS_MAX];
    bool alert_over[SOAK_ALERTS_MAX]; /* cleared later */
};

struct trial;

/* budgets are copied. NULL when out of memory. */
struct trial *trial_create(const struct target_identity *identity, const struct budgets *budgets);
/* view: of the judge that was fed the same event before. */
void trial_event(struct trial *trial, const struct event *event, const struct judge_view *view);
void trial_alert(struct trial *trial, const struct alert *alert);
/* A reading of --per: a number that goes up with what the application has done. */
void trial_counter(struct trial *trial, int64_t ms, double value);
/* Already certain, whatever follows: an explosion, a height that was passed. */
bool trial_has_failed(const struct trial *trial);
/* reference: the trial of an earlier recording, or NULL. The result is large; what it points to
 * lives as long as the trials. */
void trial_result(const struct trial *trial, const struct trial *reference,
                  struct soak_result *result);
void trial_destroy(struct trial *trial);

/* The course of one series, from the first event on; NULL when it has none. */
const struct points *trial_points(const struct trial *trial, enum soak_series series);
int64_t trial_last_ms(const struct trial *trial);
/* -1: warm-up had not ended. */
int64_t trial_baseline_ms(const struct trial *trial);
