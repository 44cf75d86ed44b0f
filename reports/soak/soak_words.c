#include "reports/soak/soak_words.h"

#include "analyzers/classes/family.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LARGE_BYTES (1 << 20)
#define MOVED_BYTES (256 << 10)

const char *soak_answer_name(enum soak_answer answer)
{
    return answer == SOAK_PASS ? "PASS" : answer == SOAK_FAIL ? "FAIL" : "UNDECIDED";
}

/* --- figures ---------------------------------------------------------------------------------- */

static int64_t whole(double value)
{
    return !isfinite(value) || fabs(value) > 9e18 ? 0 : llround(value);
}

struct soak_text soak_amount_text(enum soak_unit unit, double amount)
{
    struct soak_text out;
    struct units_text text =
        unit == SOAK_UNIT_BYTES ? units_bytes(whole(amount)) : units_count(whole(amount));
    snprintf(out.text, sizeof out.text, "%s", text.text);
    return out;
}

struct soak_text soak_growth_text(enum soak_unit unit, double growth)
{
    struct soak_text out;
    int64_t number = whole(growth);
    if (unit == SOAK_UNIT_BYTES)
        snprintf(out.text, sizeof out.text, "%s", units_growth(number).text);
    else
        snprintf(out.text, sizeof out.text, "%s%s", number > 0 ? "+" : "",
                 units_count(number).text);
    return out;
}

struct soak_text soak_rate_text(enum soak_unit unit, double per_h)
{
    struct soak_text out = soak_growth_text(unit, per_h);
    size_t length = strlen(out.text);
    snprintf(out.text + length, sizeof out.text - length, "/h");
    return out;
}

struct soak_text soak_interval_text(enum soak_unit unit, struct estimate estimate)
{
    struct soak_text out = soak_growth_text(unit, estimate.low);
    struct soak_text high = soak_growth_text(unit, estimate.high);
    size_t length = strlen(out.text);
    memmove(out.text + 1, out.text, length);
    out.text[0] = '[';
    snprintf(out.text + length + 1, sizeof out.text - length - 1, ", %.60s]", high.text);
    return out;
}

/* --- one line --------------------------------------------------------------------------------- */

static struct estimate slope_of(const struct soak_line *line)
{
    const struct verdict_interval *slope = &line->verdict.slope_bytes_per_h;
    return (struct estimate){line->verdict.have_slope, slope->value, slope->low, slope->high};
}

static void put_outcome(FILE *out, const struct soak_line *line,
                        const struct budget_outcome *outcome)
{
    static const char *const what[] = {"slope", "growth per iteration", "height", "growth"};
    const struct budget *budget = outcome->budget;
    const char *kept = outcome->answer == SOAK_PASS   ? "keeps"
                       : outcome->answer == SOAK_FAIL ? "breaks"
                                                      : "may or may not keep";
    fprintf(out, "%s %s the budget %s", what[budget->kind], kept, budget->text);
    if (!outcome->measured.known) {
        fputs(" (too little is known)", out);
    } else if (budget->kind == BUDGET_SLOPE || budget->kind == BUDGET_ITERATION) {
        fprintf(out, ": %s%s, 95 %% %s", soak_growth_text(line->unit, outcome->measured.value).text,
                budget->kind == BUDGET_SLOPE ? "/h" : " per iteration",
                soak_interval_text(line->unit, outcome->measured).text);
    } else {
        fprintf(out, ": %s",
                budget->kind == BUDGET_GROWTH
                    ? soak_growth_text(line->unit, outcome->measured.value).text
                    : soak_amount_text(line->unit, outcome->measured.value).text);
    }
    if (outcome->needs_ms > 0)
        fprintf(out, "; about %s after warm-up would tell", units_duration(outcome->needs_ms).text);
}

static void put_change(FILE *out, const struct soak_result *result, const struct soak_line *line)
{
    const struct soak_change *change = &line->change;
    if (!change->compared) {
        fprintf(out, "cannot be compared%s%s", result->against[0] != '\0' ? ": " : "",
                result->against);
        return;
    }
    fprintf(out, "%s the reference: slope %s %s, level %s %s",
            change->answer == SOAK_PASS   ? "no worse than"
            : change->answer == SOAK_FAIL ? "worse than"
                                          : "may or may not be worse than",
            soak_rate_text(line->unit, change->slope.value).text,
            soak_interval_text(line->unit, change->slope).text,
            soak_growth_text(line->unit, change->level.value).text,
            soak_interval_text(line->unit, change->level).text);
}

/* For counts: what the verdict's own sentence says of bytes. */
static void put_count_verdict(FILE *out, const struct soak_line *line)
{
    const struct verdict *verdict = &line->verdict;
    fprintf(out, "%s, now %s", verdict_state_meaning(verdict->state),
            soak_amount_text(line->unit, (double)verdict->level_bytes).text);
    if (verdict->have_slope)
        fprintf(out, ", %s, 95 %% %s",
                soak_rate_text(line->unit, verdict->slope_bytes_per_h.value).text,
                soak_interval_text(line->unit, slope_of(line)).text);
}

struct soak_text soak_line_text(const struct soak_result *result, const struct soak_line *line)
{
    struct soak_text text = {""};
    FILE *out = fmemopen(text.text, sizeof text.text, "w");
    if (out == NULL)
        return text;
    fprintf(out, "%s: ", line->title);
    for (int i = 0; i < line->outcome_count; i++) {
        put_outcome(out, line, &line->outcomes[i]);
        fputs("; ", out);
    }
    if (result->compared)
        put_change(out, result, line);
    else if (!result->warm)
        fputs("warm-up had not ended", out);
    else if (line->unit == SOAK_UNIT_COUNT || line->verdict.sentence[0] == '\0')
        put_count_verdict(out, line);
    else
        fputs(line->verdict.sentence, out);
    if (line->per_iteration.known)
        fprintf(out, "; %s per iteration, 95 %% %s",
                soak_growth_text(line->unit, line->per_iteration.value).text,
                soak_interval_text(line->unit, line->per_iteration).text);
    fclose(out);
    text.text[sizeof text.text - 1] = '\0';
    return text;
}

bool soak_line_matters(const struct soak_line *line)
{
    if (line->decides || line->series < SOAK_FIRST_CATEGORY ||
        (line->watched && line->answer == SOAK_FAIL))
        return true;
    if (line->series == SOAK_FIRST_CATEGORY + NMT_INTERNAL)
        return false; /* it is the first line */
    int64_t growth = line->verdict.growth_bytes;
    return line->verdict.level_bytes >= LARGE_BYTES || growth >= MOVED_BYTES ||
           growth <= -MOVED_BYTES;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* The finding that the sentence is about: what fails first, one that names a family before others. */
static int gravest(const struct soak_result *result)
{
    int best = -1;
    for (int i = 0; i < result->alert_count; i++) {
        if (!result->alert_fails[i])
            continue;
        const struct finding *finding = &result->alerts[i].finding;
        if (best < 0 || finding->severity > result->alerts[best].finding.severity ||
            (finding->severity == result->alerts[best].finding.severity &&
             finding->family[0] != '\0' && result->alerts[best].finding.family[0] == '\0'))
            best = i;
    }
    return best;
}

static const struct soak_line *first_line(const struct soak_result *result, enum soak_answer answer)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < result->line_count; i++) {
            const struct soak_line *line = &result->lines[i];
            bool counts = pass == 0 ? line->decides : line->watched && answer == SOAK_FAIL;
            if (counts && line->answer == answer)
                return line;
        }
    }
    return NULL;
}

static int count_lines(const struct soak_result *result, enum soak_answer answer)
{
    int count = 0;
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        bool counts = answer == SOAK_UNDECIDED ? line->decides : line->watched;
        count += counts && line->answer == answer;
    }
    return count;
}

static void put_failure(FILE *out, const struct soak_result *result)
{
    int finding = gravest(result), lines = count_lines(result, SOAK_FAIL);
    if (finding >= 0) {
        fputs(result->alerts[finding].finding.title, out);
        if (lines > 0)
            fprintf(out, "; %d series grow%s as well", lines, lines == 1 ? "s" : "");
        return;
    }
    const struct soak_line *line = first_line(result, SOAK_FAIL);
    if (line != NULL)
        fputs(soak_line_text(result, line).text, out);
    if (lines > 1)
        fprintf(out, " (and %d more)", lines - 1);
}

static void put_pass(FILE *out, const struct soak_result *result)
{
    if (result->compared) {
        fprintf(out, "No worse than the reference over %s after warm-up",
                units_duration(result->compared_ms).text);
        return;
    }
    fprintf(out, "Converged: nothing that counts grew in %s after warm-up",
            units_duration(result->last_ms - result->baseline_ms).text);
    const char *separator = " (";
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        if (!line->decides || !line->verdict.have_slope)
            continue;
        fprintf(out, "%s%s at most %s", separator, line->title,
                soak_rate_text(line->unit, line->verdict.slope_bytes_per_h.high).text);
        separator = ", ";
    }
    fputs(separator[0] == ',' ? ")" : "", out);
}

static void put_doubt(FILE *out, const struct soak_summary *summary,
                      const struct soak_result *result)
{
    fputs("Cannot tell: ", out);
    if (summary->reason[0] != '\0') {
        fputs(summary->reason, out);
        return;
    }
    if (!result->have_nmt) {
        fputs("no NMT summary was seen", out);
        return;
    }
    if (!result->warm) {
        fprintf(out, "warm-up had not ended after %s", units_duration(result->last_ms).text);
        return;
    }
    const struct soak_line *line = first_line(result, SOAK_UNDECIDED);
    int others = count_lines(result, SOAK_UNDECIDED) - 1;
    if (line != NULL)
        fputs(soak_line_text(result, line).text, out);
    if (others > 0)
        fprintf(out, " (and %d more)", others);
}

struct soak_text soak_sentence(const struct soak_summary *summary)
{
    struct soak_text text = {""};
    FILE *out = fmemopen(text.text, sizeof text.text, "w");
    if (out == NULL)
        return text;
    const struct soak_result *result =
        summary->chief >= 0 ? summary->results[summary->chief] : NULL;
    if (result == NULL)
        fprintf(out, "Cannot tell: %s", summary->reason);
    else if (summary->answer == SOAK_FAIL)
        put_failure(out, result);
    else if (summary->answer == SOAK_PASS)
        put_pass(out, result);
    else
        put_doubt(out, summary, result);
    fclose(out);
    text.text[sizeof text.text - 1] = '\0';
    size_t length = strlen(text.text);
    while (length > 0 && (text.text[length - 1] == '.' || text.text[length - 1] == ' '))
        length--;
    if (length + 1 < sizeof text.text)
        memcpy(text.text + length, ".", 2);
    return text;
}

struct soak_text soak_advice(const struct soak_summary *summary)
{
    struct soak_text text = {""};
    if (summary->chief < 0)
        return text;
    const struct soak_result *result = summary->results[summary->chief];
    int index = gravest(result);
    if (index < 0)
        return text;
    const struct finding *finding = &result->alerts[index].finding;
    const struct family *family = family_by_id(finding->family);
    snprintf(text.text, sizeof text.text, "%s", family != NULL ? family->fix : finding->advice);
    return text;
}
