/* The tables of a tally; see tally.h. */
#include "tests/verdict/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FALSE_ALARMS_PER_1000_DAYS 1.0
#define FOUND_SHARE                0.99
#define FAST_H                     2.0
#define SLOW_H                     24.0
#define FAST_KIND                  "leak >= 5 MB/h, jvm"
#define SLOW_KIND                  "leak 1 MB/h, jvm"
#define SPARSE_KIND                "leak, even"
#define COVERAGE                   0.95

static const char *const state_names[] = {
#define VERDICT_STATE(id, answer, meaning) #id,
#include "analyzers/trend/verdict_states.def"
};

/* At most so many events are expected, 95 % sure, when so many were counted (Poisson; Wilson and
 * Hilferty's approximation of the chi-square quantile). */
static double poisson_upper(int events)
{
    double n = events + 1, root = 1 - 1 / (9 * n) + 1.644854 / (3 * sqrt(n));
    return n * root * root * root;
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Nearest rank; NAN when there is nothing. values is sorted in place. */
static double quantile(double *values, int n, double share)
{
    if (n == 0)
        return NAN;
    qsort(values, (size_t)n, sizeof *values, ascending);
    int rank = (int)ceil(share * n) - 1;
    return values[rank < 0 ? 0 : rank];
}

static int found_within(const struct tally_kind *kind, int method, double h)
{
    int found = 0;
    for (int i = 0; i < kind->grew; i++)
        found += kind->found_after_h[method][i] <= h;
    return found;
}

static void print_duration(FILE *out, double h)
{
    if (isinf(h))
        fprintf(out, " never |");
    else if (h < 1.995)
        fprintf(out, " %.0f min |", h * 60);
    else
        fprintf(out, " %.1f h |", h);
}

static const char *met(bool is)
{
    return is ? "met" : "**not met**";
}

/* --- goals ------------------------------------------------------------------------------------ */

static void goal_found(FILE *out, const struct tally *tally, const char *name, double within_h)
{
    int grew = 0, found = 0;
    for (int i = 0; i < tally->kinds; i++) {
        const struct tally_kind *kind = &tally->kind[i];
        if (strcmp(kind->kind, name) == 0) {
            grew += kind->grew;
            found += found_within(kind, METHOD_VERDICT, within_h);
        }
    }
    if (grew > 0)
        fprintf(out, "| %s: %.0f %% found within %.0f h | %.1f %% of %d | %s |\n", name,
                FOUND_SHARE * 100, within_h, 100.0 * found / grew, grew,
                met(found >= FOUND_SHARE * grew));
}

static void goals(FILE *out, const struct tally *tally)
{
    fprintf(out, "| goal | measured | |\n|---|---|---|\n");
    double days = 0;
    int alarms = 0, intervals = 0, right = 0;
    for (int i = 0; i < tally->kinds; i++) {
        const struct tally_kind *kind = &tally->kind[i];
        days += kind->converged_days;
        alarms += kind->false_alarms[METHOD_VERDICT];
        intervals += kind->intervals;
        right += kind->intervals_right;
    }
    if (days > 0)
        fprintf(out,
                "| at most %.0f false alarm in 1000 converged series-days | %d in %.0f days: "
                "%.2f in 1000 (95 %% sure: at most %.2f) | %s |\n",
                FALSE_ALARMS_PER_1000_DAYS, alarms, days, alarms * 1000 / days,
                poisson_upper(alarms) * 1000 / days,
                met(alarms * 1000 <= FALSE_ALARMS_PER_1000_DAYS * days));
    goal_found(out, tally, FAST_KIND, FAST_H);
    goal_found(out, tally, SLOW_KIND, SLOW_H);
    goal_found(out, tally, SPARSE_KIND, FAST_H);
    if (intervals > 0)
        fprintf(out, "| the 95 %% interval holds the true slope | %.1f %% of %d | %s |\n",
                100.0 * right / intervals, intervals, met(right >= COVERAGE * intervals));
}

/* --- the tables ------------------------------------------------------------------------------- */

static void false_alarms(FILE *out, const struct tally *tally)
{
    fprintf(out, "\n### False alarms in 1000 converged series-days\n\n"
                 "| series | days | verdict | least squares, 1 h | least squares, all | "
                 "Mann-Kendall | JMC's rule | single verdict wrong |\n"
                 "|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int i = 0; i < tally->kinds; i++) {
        const struct tally_kind *kind = &tally->kind[i];
        if (kind->converged_days <= 0)
            continue;
        fprintf(out, "| %s | %.0f |", kind->kind, kind->converged_days);
        for (int method = 0; method < METHOD_COUNT; method++)
            fprintf(out, " %.0f |", kind->false_alarms[method] * 1000 / kind->converged_days);
        fprintf(out, " %.3g %% |\n", 100.0 * kind->asks_wrong / kind->asks);
    }
}

static void early(FILE *out, const struct tally *tally)
{
    fprintf(out,
            "\n### Series with an alarm while the truth is undecided\n\n"
            "Start-up, a load that rises, the first day of a daily load, the first hours after a "
            "leak has stopped.\n\n"
            "| series | number | verdict | least squares, 1 h | least squares, all | "
            "Mann-Kendall | JMC's rule |\n"
            "|---|---:|---:|---:|---:|---:|---:|\n");
    for (int i = 0; i < tally->kinds; i++) {
        const struct tally_kind *kind = &tally->kind[i];
        int any = 0;
        for (int method = 0; method < METHOD_COUNT; method++)
            any += kind->early[method];
        if (any == 0)
            continue;
        fprintf(out, "| %s | %d |", kind->kind, kind->series);
        for (int method = 0; method < METHOD_COUNT; method++)
            fprintf(out, " %.0f %% |", 100.0 * kind->early[method] / kind->series);
        fprintf(out, "\n");
    }
}

static void growth(FILE *out, struct tally *tally)
{
    fprintf(out, "\n### Growth: when the alarm comes\n\n"
                 "| series | number | within 2 h | within 24 h | ever | median | 99 %% | "
                 "least squares, 1 h | least squares, all | Mann-Kendall | JMC's rule |\n"
                 "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int i = 0; i < tally->kinds; i++) {
        struct tally_kind *kind = &tally->kind[i];
        if (kind->grew == 0)
            continue;
        fprintf(out, "| %s | %d |", kind->kind, kind->grew);
        const double within_h[] = {FAST_H, SLOW_H, 1e9};
        for (int j = 0; j < 3; j++)
            fprintf(out, " %.1f %% |",
                    100.0 * found_within(kind, METHOD_VERDICT, within_h[j]) / kind->grew);
        double *delays_h = kind->found_after_h[METHOD_VERDICT];
        print_duration(out, quantile(delays_h, kind->grew, 0.5));
        print_duration(out, quantile(delays_h, kind->grew, 0.99));
        for (int method = METHOD_BASELINES; method < METHOD_COUNT; method++)
            print_duration(out, quantile(kind->found_after_h[method], kind->grew, 0.5));
        fprintf(out, "\n");
    }
    fprintf(out, "\nThe baselines' columns are medians.\n");
}

static void ends(FILE *out, struct tally *tally)
{
    fprintf(out,
            "\n### A single verdict at the end of the series, and the interval of the slope\n\n"
            "| series | number | right | cannot tell | wrong | state right | intervals | hold "
            "the truth | "
            "half width, median |\n"
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int i = 0; i < tally->kinds; i++) {
        struct tally_kind *kind = &tally->kind[i];
        fprintf(out, "| %s | %d |", kind->kind, kind->series);
        for (int end = 0; end < TRIAL_ENDS; end++)
            fprintf(out, " %.1f %% |", 100.0 * kind->end[end] / kind->series);
        fprintf(out, " %.1f %% |", 100.0 * kind->called_right / kind->series);
        if (kind->intervals > 0)
            fprintf(out, " %d | %.1f %% |", kind->intervals,
                    100.0 * kind->intervals_right / kind->intervals);
        else
            fprintf(out, " | |");
        double half_width = quantile(kind->half_width, kind->half_widths, 0.5);
        if (isnan(half_width))
            fprintf(out, " |\n");
        else
            fprintf(out, " %.3g %% |\n", half_width * 100);
    }
}

static void classes(FILE *out, const struct tally *tally)
{
    fprintf(out,
            "\n### Growth that goes with the classes loaded\n\n"
            "| series | number | bytes a class within 10 %% | explained share within 0.1 | the "
            "interval of what is left holds the truth |\n"
            "|---|---:|---:|---:|---:|\n");
    for (int i = 0; i < tally->kinds; i++) {
        const struct tally_kind *kind = &tally->kind[i];
        if (kind->with_classes == 0)
            continue;
        double percent = 100.0 / kind->with_classes;
        fprintf(out, "| %s | %d | %.0f %% | %.0f %% | %.0f %% |\n", kind->kind, kind->with_classes,
                kind->per_class_right * percent, kind->share_right * percent,
                kind->left_right * percent);
    }
}

static void states(FILE *out, const struct tally *tally)
{
    fprintf(out, "\n### What it is, and what the verdict calls it at the end\n\nBold: a state that "
                 "describes it.\n\n| truth |");
    for (int state = 0; state < VERDICT_STATE_COUNT; state++)
        fprintf(out, " %s |", state_names[state]);
    fprintf(out, "\n|---|");
    for (int state = 0; state < VERDICT_STATE_COUNT; state++)
        fprintf(out, "---:|");
    fprintf(out, "\n");
    for (int truth = 0; truth < TRUTH_COUNT; truth++) {
        fprintf(out, "| %s |", truth_name((enum truth)truth));
        for (int state = 0; state < VERDICT_STATE_COUNT; state++) {
            bool right = truth_is_called((enum truth)truth, (enum verdict_state)state);
            if (tally->states[truth][state] > 0)
                fprintf(out, right ? " **%d** |" : " %d |", tally->states[truth][state]);
            else
                fprintf(out, " |");
        }
        fprintf(out, "\n");
    }
}

void tally_print(struct tally *tally, FILE *out)
{
    goals(out, tally);
    false_alarms(out, tally);
    early(out, tally);
    growth(out, tally);
    ends(out, tally);
    classes(out, tally);
    states(out, tally);
}
