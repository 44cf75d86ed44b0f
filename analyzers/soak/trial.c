#include "analyzers/soak/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A soak lasts minutes: a shorter span than this is too short even for it. */
#define MIN_SPAN_MS       60000
/* Floors for counts, in place of megabytes. */
#define COUNT_FLOOR       100
#define COUNT_FLOOR_PER_H 60

struct trial_series {
    int64_t count;
    int64_t last;
    int64_t highest;
    int64_t baseline_count; /* since the baseline */
    int64_t baseline;
    struct points points;
    struct verdict_series *verdict; /* NULL until the baseline, and when memory ran out */
};

struct trial {
    struct target_identity identity;
    struct budgets budgets;
    int64_t last_ms;
    int64_t baseline_ms; /* -1 until warm */
    char warmup_reason[96];
    bool have_nmt;
    int64_t nmt_total_bytes; /* the newest, heap included; 0 unknown */
    int64_t classes_loaded;  /* the newest; VERDICT_MISSING unknown */
    struct points counter;
    struct trial_series series[SOAK_SERIES_COUNT];
    int alert_count;
    struct alert alerts[SOAK_ALERTS_MAX];
    struct texts texts; /* of their findings */
    bool alert_over[SOAK_ALERTS_MAX];
};

struct trial *trial_create(const struct target_identity *identity, const struct budgets *budgets)
{
    struct trial *trial = calloc(1, sizeof *trial);
    if (trial == NULL)
        return NULL;
    trial->identity = *identity;
    if (budgets != NULL)
        trial->budgets = *budgets;
    trial->baseline_ms = -1;
    trial->classes_loaded = VERDICT_MISSING;
    return trial;
}

static const struct budget *height_of(const struct trial *trial, enum soak_series series)
{
    for (int i = 0; i < trial->budgets.count; i++) {
        const struct budget *budget = &trial->budgets.budget[i];
        if (budget->series == series && budget->kind == BUDGET_HEIGHT)
            return budget;
    }
    return NULL;
}

static struct verdict_series *create_verdict(const struct trial *trial, enum soak_series series)
{
    struct verdict_options options;
    const struct budget *height = height_of(trial, series);
    verdict_options_default(&options);
    options.min_span_ms = MIN(options.min_span_ms, MIN_SPAN_MS);
    if (soak_series_unit(series) == SOAK_UNIT_COUNT) {
        options.floor_bytes = COUNT_FLOOR;
        options.floor_bytes_per_h = COUNT_FLOOR_PER_H;
    }
    if (height != NULL) {
        options.limit_bytes = (int64_t)height->amount;
        options.limit_name = "budget";
    }
    return verdict_create(&options);
}

/* Memory that classes explain. */
static bool of_classes(enum soak_series series)
{
    int category = (int)series - SOAK_FIRST_CATEGORY;
    return series == SOAK_INTERNAL || series == SOAK_METASPACE || category == NMT_CLASS ||
           category == NMT_METASPACE || category == NMT_SYMBOL || category == NMT_CODE;
}

static void feed(struct trial *trial, enum soak_series series, int64_t ms, int64_t value)
{
    struct trial_series *one = &trial->series[series];
    if (one->count++ == 0 || value > one->highest)
        one->highest = value;
    one->last = value;
    points_add(&one->points, ms, (double)value);
    if (trial->baseline_ms < 0)
        return;
    if (one->verdict == NULL)
        one->verdict = create_verdict(trial, series);
    if (one->baseline_count++ == 0)
        one->baseline = value;
    if (one->verdict != NULL)
        verdict_feed(one->verdict, ms, value,
                     of_classes(series) ? trial->classes_loaded : VERDICT_MISSING);
}

void trial_event(struct trial *trial, const struct event *event, const struct judge_view *view)
{
    if (event->ms < trial->last_ms)
        return; /* a damaged recording: time does not go back */
    trial->last_ms = event->ms;
    if (view->warm && trial->baseline_ms < 0)
        trial->baseline_ms = view->baseline_ms >= 0 ? view->baseline_ms : event->ms;
    memcpy(trial->warmup_reason, view->warmup_reason, sizeof trial->warmup_reason);
    if (event->kind != EVENT_SAMPLE)
        return;
    const struct sample *sample = &event->sample;
    int64_t value;
    if (sample_get(sample, SAMPLE_CLASSES_LOADED, &value) && value >= 0)
        trial->classes_loaded = value;
    if (sample_get(sample, SAMPLE_NMT_COMMITTED_BYTES, &value))
        trial->nmt_total_bytes = value;
    trial->have_nmt = trial->have_nmt || sample_has_nmt(sample);
    for (int series = 0; series < SOAK_SERIES_COUNT; series++) {
        if (soak_series_value((enum soak_series)series, sample, trial->identity.jdk_major, &value))
            feed(trial, (enum soak_series)series, event->ms, value);
    }
}

void trial_alert(struct trial *trial, const struct alert *alert)
{
    if (alert->state == ALERT_RAISED) {
        if (trial->alert_count < SOAK_ALERTS_MAX) {
            struct alert *kept = &trial->alerts[trial->alert_count++];
            *kept = *alert;
            finding_copy(&kept->finding, &trial->texts, &alert->finding);
        }
        return;
    }
    for (int i = trial->alert_count - 1; i >= 0; i--) {
        const struct finding *raised = &trial->alerts[i].finding;
        if (raised->kind == alert->finding.kind &&
            strcmp(raised->family, alert->finding.family) == 0 && !trial->alert_over[i]) {
            trial->alert_over[i] = true;
            return;
        }
    }
}

void trial_counter(struct trial *trial, int64_t ms, double value)
{
    /* What went back began anew: only what follows is one course. */
    if (trial->counter.count > 0 && value < trial->counter.at[trial->counter.count - 1].value)
        points_free(&trial->counter);
    points_add(&trial->counter, ms, value);
}

/* A finding of this kind fails a soak: always, or only while it lasts. */
static bool soak_finding_fails(enum finding_kind kind, bool over)
{
    switch (kind) {
    case FINDING_CLASS_EXPLOSION:
    case FINDING_METASPACE_LIMIT:
    case FINDING_INTERNAL_INVESTIGATE:
    case FINDING_INTERNAL_EXPLOSION:
    case FINDING_INTERNAL_UNACCEPTABLE:
        return true;
    case FINDING_CLASS_CHURN: /* work, not growth */
        return false;
    default:
        return !over;
    }
}

bool trial_has_failed(const struct trial *trial)
{
    for (int i = 0; i < trial->alert_count; i++) {
        if (soak_finding_fails(trial->alerts[i].finding.kind, true))
            return true;
    }
    for (int i = 0; i < trial->budgets.count; i++) {
        const struct budget *budget = &trial->budgets.budget[i];
        const struct trial_series *series = &trial->series[budget->series];
        if (budget->kind == BUDGET_HEIGHT && series->count > 0 &&
            (double)series->highest > budget->amount)
            return true;
    }
    return false;
}

const struct points *trial_points(const struct trial *trial, enum soak_series series)
{
    return trial->series[series].points.count > 0 ? &trial->series[series].points : NULL;
}

int64_t trial_last_ms(const struct trial *trial)
{
    return trial->last_ms;
}

int64_t trial_baseline_ms(const struct trial *trial)
{
    return trial->baseline_ms;
}

void trial_destroy(struct trial *trial)
{
    if (trial == NULL)
        return;
    for (int i = 0; i < SOAK_SERIES_COUNT; i++) {
        verdict_destroy(trial->series[i].verdict);
        points_free(&trial->series[i].points);
    }
    points_free(&trial->counter);
    texts_free(&trial->texts);
    free(trial);
}

/* --- what follows from it --------------------------------------------------------------------- */

/* What follows from a trial: each line, then the whole. */
/* A comparison of less than this says nothing. */
#define COMPARED_MIN_MS    60000
/* A category that grew by this much cannot be passed over because it is not known yet. */
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
    line->points = &one->points;
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
