/* What follows from a trial: each line, then the whole. */
#include "analyzers/soak/trial_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A comparison of less than this says nothing. */
#define COMPARED_MIN_MS    60000
/* A category that grew by this much cannot be passed over because nobody can tell yet. */
#define GREW_BYTES         1048576.0
/* The level is that of the last third of the common span. */
#define LEVEL_PART         3
/* Well above what two runs of the same program differ by (docs/soak.md), and small beside a leak */
#define LEVEL_MARGIN_BYTES 1048576.0
#define LEVEL_MARGIN_COUNT 100.0
#define LEVEL_MARGIN_SHARE 0.05
#define SLOPE_MARGIN_BYTES 5242880.0
#define SLOPE_MARGIN_COUNT 200.0
#define SLOPE_MARGIN_SHARE 0.10

static double quantum_of(enum soak_series series)
{
    return soak_series_unit(series) == SOAK_UNIT_BYTES ? 1024 : 1;
}

static struct estimate slope_of(const struct verdict *verdict)
{
    const struct verdict_interval *slope = &verdict->slope_bytes_per_h;
    return (struct estimate){verdict->have_slope, slope->value, slope->low, slope->high};
}

/* --- one line --------------------------------------------------------------------------------- */

static struct budget_outcome judge_budget(const struct trial *trial, const struct soak_line *line,
                                          const struct budget *budget)
{
    const struct trial_series *series = &trial->series[line->series];
    switch (budget->kind) {
    case BUDGET_SLOPE:
        return budget_judge_slope(budget, slope_of(&line->verdict),
                                  line->verdict.to_ms - line->verdict.from_ms);
    case BUDGET_ITERATION:
        return budget_judge_slope(budget, line->per_iteration, trial->last_ms - trial->baseline_ms);
    case BUDGET_GROWTH:
        return budget_judge_amount(budget, series->baseline_count > 0,
                                   (double)series->last - (double)series->baseline);
    case BUDGET_HEIGHT:
        break;
    }
    return budget_judge_amount(budget, series->count > 0, (double)series->highest);
}

/* Broken budgets fail; a budget for the slope says what growth is allowed, in place of the verdict. */
static void judge_line(const struct trial *trial, struct soak_line *line)
{
    bool slope_budget = false, undecided = false, broken = false;
    for (int i = 0; i < trial->budgets.count && line->outcome_count < LINE_BUDGETS; i++) {
        const struct budget *budget = &trial->budgets.budget[i];
        if (budget->series != line->series)
            continue;
        struct budget_outcome outcome = judge_budget(trial, line, budget);
        line->outcomes[line->outcome_count++] = outcome;
        slope_budget =
            slope_budget || budget->kind == BUDGET_SLOPE || budget->kind == BUDGET_ITERATION;
        undecided = undecided || outcome.answer == SOAK_UNDECIDED;
        broken = broken || outcome.answer == SOAK_FAIL;
    }
    if (!slope_budget)
        line->answer = (enum soak_answer)line->verdict.answer;
    if (broken)
        line->answer = SOAK_FAIL;
    else if (undecided && line->answer == SOAK_PASS)
        line->answer = SOAK_UNDECIDED;
}

/* RSS above all that NMT has committed is memory that NMT does not see: then its growth counts. */
static bool is_beyond_nmt(const struct trial *trial, enum soak_series series)
{
    return series == SOAK_RSS && trial->nmt_total_bytes > 0 &&
           trial->series[SOAK_RSS].last > trial->nmt_total_bytes;
}

static void fill_line(const struct trial *trial, enum soak_series series, struct soak_line *line)
{
    const struct trial_series *one = &trial->series[series];
    enum soak_role role = soak_series_role(series);
    line->series = series;
    soak_series_key(series, line->key);
    line->title = soak_series_title(series, trial->identity.jdk_major);
    line->unit = soak_series_unit(series);
    line->verdict = (struct verdict){.state = VERDICT_TOO_SHORT, .answer = VERDICT_UNDECIDED};
    if (one->verdict != NULL)
        verdict_ask(one->verdict, &line->verdict);
    if (!line->verdict.have_slope) {
        line->verdict.level_bytes = one->last;
        line->verdict.growth_bytes = one->baseline_count > 0 ? one->last - one->baseline : 0;
    }
    if (trial->counter.count > 1 && trial->baseline_ms >= 0)
        line->per_iteration = estimate_per_step(&one->points, &trial->counter, trial->baseline_ms,
                                                trial->last_ms, quantum_of(series));
    judge_line(trial, line);
    bool grew = role == SOAK_ROLE_WATCHED && one->baseline_count > 0 &&
                (double)one->last - (double)one->baseline >= GREW_BYTES;
    line->decides = role == SOAK_ROLE_CORE || line->outcome_count > 0 || grew;
    line->watched =
        role != SOAK_ROLE_SHOWN || line->outcome_count > 0 || is_beyond_nmt(trial, series);
}

/* --- against another recording ---------------------------------------------------------------- */

static void compare_line(const struct trial *trial, const struct trial *reference, int64_t span_ms,
                         struct soak_line *line)
{
    struct soak_change *change = &line->change;
    const struct points *now = &trial->series[line->series].points;
    const struct points *then = &reference->series[line->series].points;
    double quantum = quantum_of(line->series);
    bool bytes = line->unit == SOAK_UNIT_BYTES;
    int64_t now_ms = trial->baseline_ms, then_ms = reference->baseline_ms;
    int64_t level_ms = span_ms - span_ms / LEVEL_PART;
    struct estimate slope_then = estimate_slope(then, then_ms, then_ms + span_ms, quantum);
    struct estimate level_then =
        estimate_level(then, then_ms + level_ms, then_ms + span_ms, quantum);
    change->slope =
        estimate_difference(slope_then, estimate_slope(now, now_ms, now_ms + span_ms, quantum));
    change->level = estimate_difference(
        level_then, estimate_level(now, now_ms + level_ms, now_ms + span_ms, quantum));
    change->compared = change->slope.known && change->level.known;
    change->answer = SOAK_UNDECIDED;
    if (!change->compared)
        return;
    change->slope_margin = fmax(bytes ? SLOPE_MARGIN_BYTES : SLOPE_MARGIN_COUNT,
                                fabs(slope_then.value) * SLOPE_MARGIN_SHARE);
    change->level_margin = fmax(bytes ? LEVEL_MARGIN_BYTES : LEVEL_MARGIN_COUNT,
                                fabs(level_then.value) * LEVEL_MARGIN_SHARE);
    for (int i = 0; i < line->outcome_count; i++) {
        if (line->outcomes[i].budget->kind == BUDGET_SLOPE)
            change->slope_margin = line->outcomes[i].budget->amount;
    }
    if (change->slope.low > change->slope_margin || change->level.low > change->level_margin)
        change->answer = SOAK_FAIL;
    else if (change->slope.high <= change->slope_margin &&
             change->level.high <= change->level_margin)
        change->answer = SOAK_PASS;
}

/* The question is then whether it is worse: growth that was there before is no news, a budget for
 * the slope becomes the margin; the other budgets stay what they are. */
static void replace_answer(struct soak_line *line)
{
    line->answer = line->change.answer;
    for (int i = 0; i < line->outcome_count; i++) {
        const struct budget_outcome *outcome = &line->outcomes[i];
        bool amount = outcome->budget->kind == BUDGET_HEIGHT ||
                      outcome->budget->kind == BUDGET_GROWTH ||
                      outcome->budget->kind == BUDGET_ITERATION;
        if (amount && outcome->answer == SOAK_FAIL)
            line->answer = SOAK_FAIL;
        else if (amount && outcome->answer == SOAK_UNDECIDED && line->answer == SOAK_PASS)
            line->answer = SOAK_UNDECIDED;
    }
}

static void compare(const struct trial *trial, const struct trial *reference,
                    struct soak_result *result)
{
    result->compared = true;
    if (trial->baseline_ms < 0 || reference->baseline_ms < 0) {
        snprintf(result->against, sizeof result->against, "warm-up had not ended in %s",
                 trial->baseline_ms < 0 ? "this run" : "the reference");
    } else {
        int64_t now_ms = trial->last_ms - trial->baseline_ms;
        int64_t then_ms = reference->last_ms - reference->baseline_ms;
        result->compared_ms = now_ms < then_ms ? now_ms : then_ms;
        if (result->compared_ms < COMPARED_MIN_MS)
            snprintf(result->against, sizeof result->against,
                     "only %lld s after warm-up are common to both runs, %d are needed",
                     (long long)(result->compared_ms / 1000), COMPARED_MIN_MS / 1000);
        else if (trial->identity.jdk_major != reference->identity.jdk_major)
            snprintf(result->against, sizeof result->against,
                     "the reference ran on JDK %d, this run on JDK %d",
                     reference->identity.jdk_major, trial->identity.jdk_major);
    }
    bool possible = result->compared_ms >= COMPARED_MIN_MS;
    for (int i = 0; i < result->line_count; i++) {
        struct soak_line *line = &result->lines[i];
        line->change.answer = SOAK_UNDECIDED;
        if (possible)
            compare_line(trial, reference, result->compared_ms, line);
        replace_answer(line);
    }
}

static bool had_alert(const struct trial *reference, const struct finding *finding)
{
    for (int i = 0; i < reference->alert_count; i++) {
        const struct finding *known = &reference->alerts[i].finding;
        if (known->kind == finding->kind && strcmp(known->family, finding->family) == 0)
            return true;
    }
    return false;
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum soak_answer sum_up(const struct soak_result *result)
{
    bool undecided = !result->have_nmt || !result->warm;
    for (int i = 0; i < result->alert_count; i++) {
        if (result->alert_fails[i])
            return SOAK_FAIL;
    }
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        if (line->watched && line->answer == SOAK_FAIL)
            return SOAK_FAIL;
        undecided = undecided || (line->decides && line->answer == SOAK_UNDECIDED);
    }
    return undecided ? SOAK_UNDECIDED : SOAK_PASS;
}

void trial_result(const struct trial *trial, const struct trial *reference,
                  struct soak_result *result)
{
    memset(result, 0, sizeof *result);
    result->identity = trial->identity;
    result->warm = trial->baseline_ms >= 0;
    result->have_nmt = trial->have_nmt;
    memcpy(result->warmup_reason, trial->warmup_reason, sizeof result->warmup_reason);
    result->baseline_ms = trial->baseline_ms;
    result->last_ms = trial->last_ms;
    result->counted = trial->counter.count > 0;
    if (result->counted) {
        result->counter_from = trial->counter.at[0].value;
        result->counter_to = trial->counter.at[trial->counter.count - 1].value;
    }
    for (int series = 0; series < SOAK_SERIES_COUNT; series++) {
        bool asked_for = false;
        for (int i = 0; i < trial->budgets.count; i++)
            asked_for = asked_for || (int)trial->budgets.budget[i].series == series;
        if (trial->series[series].count > 0 || asked_for)
            fill_line(trial, (enum soak_series)series, &result->lines[result->line_count++]);
    }
    if (reference != NULL)
        compare(trial, reference, result);
    result->alert_count = trial->alert_count;
    result->alerts = trial->alerts;
    for (int i = 0; i < trial->alert_count; i++) {
        const struct finding *finding = &trial->alerts[i].finding;
        result->alert_over[i] = trial->alert_over[i];
        result->alert_fails[i] = soak_finding_fails(finding->kind, trial->alert_over[i]) &&
                                 (reference == NULL || !had_alert(reference, finding));
    }
    result->answer = sum_up(result);
}
