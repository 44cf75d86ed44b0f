#include "tests/verdict/trial.h"

#include "analyzers/trend/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MS_PER_H 3600000.0

/* Intervals are looked at here and at the end. */
static const double interval_at_h[] = {2, 6, 24};
#define INTERVALS (sizeof interval_at_h / sizeof *interval_at_h)

struct bench {
    struct trial *trial;
    struct series series;
    struct verdict_series *verdict;
    struct baselines *baselines;
    struct growth_alarm alarm[METHOD_COUNT];
    bool lingered[METHOD_COUNT]; /* counted as false already */
    double converged_since_h;    /* < 0: is not */
    FILE *failures;
};

static void complain(const struct bench *bench, double h, const char *what,
                     const struct verdict *verdict)
{
    if (bench->failures == NULL)
        return;
    const struct shape *s = bench->series.shape;
    fprintf(bench->failures,
            "- %s at %.2f h, truth %s: %s. \"%s\" "
            "`error_rates --set %d --shape %s --seed %u --csv --until %.3f`\n",
            what, h, truth_name(s->truth), verdict_state_name(verdict->state), verdict->sentence,
            s->set, s->id, bench->trial->seed, h);
}

static void count(struct bench *bench, int method, const struct verdict *verdict, double h,
                  enum series_truth truth)
{
    struct growth_alarm *alarm = &bench->alarm[method];
    struct trial_method *result = &bench->trial->method[method];
    bool raised = growth_alarm_add(alarm, verdict) == GROWTH_ALARM_RAISED;
    const struct shape *s = bench->series.shape;
    if (truth == SERIES_GROWS && alarm->active && isinf(result->found_after_h))
        result->found_after_h = h - s->leak_from_h;
    if (truth == SERIES_OPEN && raised)
        result->early = true;
    if (truth != SERIES_CONVERGED) {
        bench->lingered[method] = false;
        return;
    }
    if (raised)
        bench->lingered[method] = true;
    bool lingers =
        alarm->active && !bench->lingered[method] && h - bench->converged_since_h >= TRIAL_LINGER_H;
    if (raised || lingers) {
        result->false_alarms++;
        bench->lingered[method] = true;
        if (method == METHOD_VERDICT)
            complain(bench, h, raised ? "false alarm" : "alarm stays on", verdict);
    }
}

/* Once the leak is found the verdict is not asked again, which would only cost time. */
static bool done(const struct bench *bench)
{
    return bench->series.shape->truth != TRUTH_STOPPED && bench->trial->grew &&
           !isinf(bench->trial->method[METHOD_VERDICT].found_after_h);
}

static void ask(struct bench *bench, double h, enum series_truth truth, int64_t level_bytes)
{
    struct verdict verdict = {0};
    struct trial *trial = bench->trial;
    if (!done(bench)) {
        verdict_ask(bench->verdict, &verdict);
        count(bench, METHOD_VERDICT, &verdict, h, truth);
        if (truth == SERIES_CONVERGED) {
            trial->converged_asks++;
            trial->converged_asks_wrong += verdict.answer == VERDICT_GROWING;
        }
    }
    bool growing[BASELINE_COUNT];
    baselines_ask(bench->baselines, growing);
    for (int i = 0; i < BASELINE_COUNT; i++) {
        verdict = (struct verdict){
            .state = growing[i] ? VERDICT_LINEAR : VERDICT_CONVERGED,
            .answer = growing[i] ? VERDICT_GROWING : VERDICT_NOT_GROWING,
            .level_bytes = level_bytes,
        };
        count(bench, METHOD_BASELINES + i, &verdict, h, truth);
    }
}

/* Of the curve without noise, where it is straight to a thousandth of its rise (or a KB). */
static bool true_slope(const struct series *series, double from_h, double to_h, double *per_h)
{
    enum { POINTS = 24 };
    double first, last, between;
    if (!series_clean_bytes(series, from_h, &first) || !series_clean_bytes(series, to_h, &last))
        return false;
    *per_h = (last - first) / (to_h - from_h);
    double curve_fit = fmax(1024, fabs(last - first) / 1000);
    for (int i = 1; i < POINTS; i++) {
        double h = from_h + (to_h - from_h) * i / POINTS;
        series_clean_bytes(series, h, &between);
        if (fabs(between - (first + *per_h * (h - from_h))) > curve_fit)
            return false;
    }
    return true;
}

static void look_at_interval(struct bench *bench, double h, int64_t first_ms,
                             const struct verdict *verdict)
{
    double from_h = (double)(verdict->from_ms - first_ms) / MS_PER_H;
    double to_h = (double)(verdict->to_ms - first_ms) / MS_PER_H, truth;
    bool first_tooth = bench->series.shape->saw_s > 0 && h < bench->series.settled_h;
    if (!verdict->have_slope || to_h <= from_h || first_tooth ||
        !true_slope(&bench->series, fmax(from_h, 0), to_h, &truth))
        return;
    const struct verdict_interval *found = &verdict->slope_bytes_per_h;
    /* A byte a minute is nothing: half of what a KB is rounded by, over an hour. */
    double slack = 60;
    bool right = found->low - slack <= truth && truth <= found->high + slack;
    bench->trial->intervals++;
    bench->trial->intervals_right += right;
    if (fabs(truth) > 1000)
        bench->trial->half_width = (found->high - found->low) / 2 / fabs(truth);
    if (!right) {
        char what[160];
        snprintf(what, sizeof what, "interval %.0f [%.0f, %.0f] misses %.0f B/h of %.2f..%.2f h",
                 found->value, found->low, found->high, truth, from_h, to_h);
        complain(bench, h, what, verdict);
    }
}

/* While start-up goes on, that it slows down is as right as that it starts up. */
enum trial_end trial_end(const struct trial *trial)
{
    enum verdict_answer right = truth_answer(trial->shape->truth), answer = trial->last.answer;
    if (right == VERDICT_UNDECIDED && trial->last.state == VERDICT_SLOWING)
        return TRIAL_RIGHT;
    if (answer == right)
        return TRIAL_RIGHT;
    return answer == VERDICT_UNDECIDED ? TRIAL_CANNOT_TELL : TRIAL_WRONG;
}

static bool play(struct bench *bench)
{
    struct trial *trial = bench->trial;
    struct point point;
    int64_t next_ask_ms = TRIAL_ASK_MS, first_ms = 0, level_bytes = 0;
    double before_h = 0;
    size_t next_interval = 0;
    struct verdict verdict;
    bench->converged_since_h = -1;
    while (series_next(&bench->series, &point)) {
        double h = bench->series.t_h;
        if (before_h == 0)
            first_ms = point.ms;
        if (point.bytes != VERDICT_MISSING)
            level_bytes = point.bytes;
        if (!verdict_feed(bench->verdict, point.ms, point.bytes, point.regressor) ||
            !baselines_feed(bench->baselines, point.ms, point.bytes, point.regressor))
            return false;
        enum series_truth truth = series_truth(&bench->series, h);
        if (truth != SERIES_CONVERGED)
            bench->converged_since_h = -1;
        else if (bench->converged_since_h < 0)
            bench->converged_since_h = h;
        else
            trial->converged_days += (h - before_h) / 24;
        if (truth == SERIES_GROWS && !trial->grew) {
            trial->grew = true;
            for (int i = 0; i < METHOD_COUNT; i++)
                trial->method[i].found_after_h = INFINITY;
        }
        if (h * MS_PER_H >= (double)next_ask_ms) {
            ask(bench, h, truth, level_bytes);
            next_ask_ms = (int64_t)(h * MS_PER_H) / TRIAL_ASK_MS * TRIAL_ASK_MS + TRIAL_ASK_MS;
        }
        if (next_interval < INTERVALS && h >= interval_at_h[next_interval]) {
            verdict_ask(bench->verdict, &verdict);
            look_at_interval(bench, h, first_ms, &verdict);
            next_interval++;
        }
        before_h = h;
    }
    verdict_ask(bench->verdict, &trial->last);
    look_at_interval(bench, before_h, first_ms, &trial->last);
    if (trial_end(trial) == TRIAL_WRONG)
        complain(bench, before_h, "wrong at the end", &trial->last);
    if (trial->grew && isinf(trial->method[METHOD_VERDICT].found_after_h))
        complain(bench, before_h, "missed", &trial->last);
    return true;
}

bool trial_run(struct trial *trial, const struct shape *shape, unsigned seed, FILE *failures)
{
    struct bench bench = {.trial = trial, .failures = failures};
    struct verdict_options options;
    verdict_options_default(&options);
    options.sparse = shape->sparse;
    *trial = (struct trial){.shape = shape, .seed = seed, .half_width = NAN};
    series_init(&bench.series, shape, seed);
    bench.verdict = verdict_create(&options);
    bench.baselines = baselines_create();
    for (int i = 0; i < METHOD_COUNT; i++)
        growth_alarm_init(&bench.alarm[i], TRIAL_NEED, TRIAL_OF);
    bool good = bench.verdict != NULL && bench.baselines != NULL && play(&bench);
    if (bench.verdict != NULL)
        verdict_destroy(bench.verdict);
    if (bench.baselines != NULL)
        baselines_destroy(bench.baselines);
    return good;
}
