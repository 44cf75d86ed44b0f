#include "reports/soak/soak_report.h"

#include "reports/json/event_json.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"
#include "analyzers/classes/family.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* --- soak words ------------------------------------------------------------------------------ */

#define LARGE_BYTES (1 << 20)
#define MOVED_BYTES (256 << 10)

/* "PASS" "FAIL" "UNDECIDED" */
static const char *soak_answer_name(enum soak_answer answer)
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

/* "+1.2 MB/h" "-30/h"; "[-0.1, +2.3] MB/h" */
static struct soak_text soak_rate_text(enum soak_unit unit, double per_h)
{
    struct soak_text out = soak_growth_text(unit, per_h);
    text_add(out.text, sizeof out.text, "/h");
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
        fprintf(out, "; about %s after warm-up would decide",
                units_duration(outcome->needs_ms).text);
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

/* Why the line has its answer, one sentence. */
static struct soak_text soak_line_text(const struct soak_result *result,
                                       const struct soak_line *line)
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

/* Lines that people want to see: those that count, those that are large or moved. */
static bool soak_line_matters(const struct soak_line *line)
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
    fprintf(out, "Converged: no judged series grew in %s after warm-up",
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

/* What has not been decided may be plain to see: a series that counts for nothing by itself, of a short soak. */
static void put_growing(FILE *out, const struct soak_result *result)
{
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        if (line->decides || line->verdict.answer != VERDICT_GROWING ||
            line->unit != SOAK_UNIT_BYTES)
            continue;
        fprintf(out, ". But %s grows: %s, 95 %% %s. A longer soak (--for 10m) tells whose it is",
                line->title, soak_rate_text(line->unit, slope_of(line).value).text,
                soak_interval_text(line->unit, slope_of(line)).text);
        return;
    }
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
        put_growing(out, result);
        return;
    }
    const struct soak_line *line = first_line(result, SOAK_UNDECIDED);
    int others = count_lines(result, SOAK_UNDECIDED) - 1;
    if (line != NULL)
        fputs(soak_line_text(result, line).text, out);
    if (others > 0)
        fprintf(out, " (and %d more)", others);
    put_growing(out, result);
}

/* The whole, one sentence that names what grows, and the family with its fix. */
static struct soak_text soak_sentence(const struct soak_summary *summary)
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

/* What to do about it; empty when there is nothing. */
static struct soak_text soak_advice(const struct soak_summary *summary)
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

/* --- the page --------------------------------------------------------------------------------- */

static enum page_tone tone_of(enum soak_answer answer)
{
    return answer == SOAK_PASS ? PAGE_OK : answer == SOAK_FAIL ? PAGE_CRITICAL : PAGE_WARNING;
}

static const char *word(const struct soak_line *line)
{
    if (!line->watched)
        return line->answer == SOAK_FAIL ? "(grows)" : "-";
    if (line->answer == SOAK_FAIL)
        return "FAIL";
    if (line->answer == SOAK_PASS)
        return "ok";
    return line->decides ? "?" : "(?)";
}

static void put_line(struct page *page, const struct soak_result *result,
                     const struct soak_line *line)
{
    const struct verdict *verdict = &line->verdict;
    bool compared = result->compared && line->change.compared;
    struct estimate slope = {verdict->have_slope, verdict->slope_bytes_per_h.value,
                             verdict->slope_bytes_per_h.low, verdict->slope_bytes_per_h.high};
    if (compared)
        slope = line->change.slope;
    char budgets[160] = "";
    for (int i = 0; i < line->outcome_count; i++)
        text_add(budgets, sizeof budgets, "%s%s", i > 0 ? "," : "", line->outcomes[i].budget->text);
    page_row(page, line->title, verdict_state_name(verdict->state),
             soak_amount_text(line->unit, (double)verdict->level_bytes).text,
             compared ? soak_growth_text(line->unit, line->change.level.value).text
                      : soak_growth_text(line->unit, (double)verdict->growth_bytes).text,
             slope.known ? soak_rate_text(line->unit, slope.value).text : "-",
             slope.known ? soak_interval_text(line->unit, slope).text : "-",
             budgets[0] != '\0' ? budgets : "-", word(line));
    if (line->watched)
        page_row_tone(page, tone_of(line->answer));
}

static void put_iterations(struct page *page, const struct soak_result *result)
{
    if (!result->counted)
        return;
    page_text(page, "iterations: %.6g to %.6g", result->counter_from, result->counter_to);
    page_facts(page);
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        bool moves = line->per_iteration.low > 0 || line->per_iteration.high < 0;
        char text[256];
        if (!line->per_iteration.known || !(line->decides || moves))
            continue;
        snprintf(text, sizeof text, "%.80s per iteration, 95 %% %.120s",
                 soak_growth_text(line->unit, line->per_iteration.value).text,
                 soak_interval_text(line->unit, line->per_iteration).text);
        page_fact(page, line->title, text);
    }
}

/* The course of a series that fails. */
static void put_chart(struct page *page, const struct soak_line *line)
{
    const struct points *points = line->points;
    char *svg = NULL, caption[200];
    size_t size = 0;
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; points != NULL && i < points->count; i++) {
        low = fmin(low, points->at[i].value);
        high = fmax(high, points->at[i].value);
    }
    FILE *out = points != NULL && points->count > 1 ? open_memstream(&svg, &size) : NULL;
    if (out == NULL)
        return;
    int64_t from_ms = points->at[0].ms, span_ms = points->at[points->count - 1].ms - from_ms;
    fputs("<svg viewBox=\"0 0 680 150\" aria-hidden=\"true\"><g fill=\"none\">"
          "<path stroke=\"rgb(176,   0,  32)\" stroke-width=\"2\" d=\"",
          out);
    for (int i = 0; i < points->count; i++)
        fprintf(out, "%c%.1f %.1f", i == 0 ? 'M' : 'L',
                680.0 * (double)(points->at[i].ms - from_ms) / (double)(span_ms > 0 ? span_ms : 1),
                145.0 - 140.0 * (points->at[i].value - low) / fmax(high - low, 1));
    fputs("\"/></g></svg>", out);
    snprintf(caption, sizeof caption, "from %.60s to %.60s in %.40s",
             soak_amount_text(line->unit, low).text, soak_amount_text(line->unit, high).text,
             units_duration(span_ms).text);
    if (fclose(out) == 0)
        page_chart(page, line->title, caption, svg, NULL);
    free(svg);
}

/* The chief first, then those that fail, those that are undecided, and the rest. */
static int rank_of(const struct soak_summary *summary, int jvm)
{
    enum soak_answer answer = summary->results[jvm]->answer;
    return jvm == summary->chief ? 0 : answer == SOAK_FAIL ? 1 : answer == SOAK_UNDECIDED ? 2 : 3;
}
#define RANKS 4

static void put_jvm(struct page *page, const struct soak_summary *summary,
                    const struct soak_result *result)
{
    const struct target_identity *who = &result->identity;
    bool compared = result->compared;
    const char *const heads[] = {"series",
                                 "state",
                                 "#now",
                                 compared ? "#change" : "#growth",
                                 compared ? "#slope diff" : "#slope",
                                 "95 % interval",
                                 "budget",
                                 "answer",
                                 NULL};
    char heading[512];
    snprintf(heading, sizeof heading, "pid %" PRId64 ", %s, JDK %s: %s", who->pid,
             who->main[0] != '\0' ? who->main : "?", who->jdk[0] != '\0' ? who->jdk : "?",
             result->warm ? result->warmup_reason : "warm-up had not ended");
    page_heading(page, heading);
    page_table_of(page, heads);
    for (int i = 0; i < result->line_count; i++)
        if (soak_line_matters(&result->lines[i]))
            put_line(page, result, &result->lines[i]);
    for (int i = 0; i < result->line_count; i++)
        if (result->lines[i].answer == SOAK_FAIL && result->lines[i].watched)
            put_chart(page, &result->lines[i]);
    put_iterations(page, result);
    if (summary->against != NULL && result->against[0] != '\0')
        page_text(page, "against %s: %s", summary->against, result->against);
    for (int i = 0; i < result->alert_count; i++) {
        page_finding(page, &result->alerts[i].finding);
        if (!result->alert_fails[i])
            page_tone(page, PAGE_PLAIN);
        if (result->alert_over[i])
            page_finding_when(page, "over by now");
    }
}

void soak_page(const struct soak_summary *summary, struct page *page)
{
    page_begin(page, soak_sentence(summary).text, soak_answer_name(summary->answer), SEVERITY_INFO);
    page_set_tone(page, tone_of(summary->answer));
    page_lead(page, soak_advice(summary).text);
    if (summary->death[0] != '\0')
        page_origin(page, "%c%s.", toupper((unsigned char)summary->death[0]), summary->death + 1);
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < summary->count; i++)
            if (rank_of(summary, i) == rank)
                put_jvm(page, summary, summary->results[i]);
    page_facts(page);
    for (int i = 0; i < summary->count; i++)
        page_fact(page, "recording", summary->recordings[i]);
    page_fact(page, "report", summary->report);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* {"value":..,"low":..,"high":..} or null. */
static void soak_json_estimate(struct json_out *out, const char *key, struct estimate estimate)
{
    if (!estimate.known) {
        json_out_null(out, key);
        return;
    }
    json_out_begin(out, key, '{');
    json_out_real(out, "value", estimate.value);
    json_out_real(out, "low", estimate.low);
    json_out_real(out, "high", estimate.high);
    json_out_end(out, '}');
}

static void json_budgets(struct json_out *out, const struct soak_line *line)
{
    static const char *const kinds[] = {"slope", "iteration", "height", "growth"};
    json_out_begin(out, "budgets", '[');
    for (int i = 0; i < line->outcome_count; i++) {
        const struct budget_outcome *outcome = &line->outcomes[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "kind", kinds[outcome->budget->kind]);
        json_out_text(out, "text", outcome->budget->text);
        json_out_real(out, "amount", outcome->budget->amount);
        json_out_text(out, "answer", soak_answer_name(outcome->answer));
        soak_json_estimate(out, "measured", outcome->measured);
        json_out_int_if(out, "needs_ms", outcome->needs_ms > 0, outcome->needs_ms);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void json_change(struct json_out *out, const struct soak_change *change)
{
    json_out_begin(out, "change", '{');
    json_out_text(out, "answer", soak_answer_name(change->answer));
    soak_json_estimate(out, "slope_per_hour", change->slope);
    soak_json_estimate(out, "level", change->level);
    json_out_real(out, "slope_margin", change->slope_margin);
    json_out_real(out, "level_margin", change->level_margin);
    json_out_end(out, '}');
}

static void json_line(struct json_out *out, const struct soak_result *result,
                      const struct soak_line *line)
{
    const struct verdict *verdict = &line->verdict;
    const struct verdict_interval *slope = &verdict->slope_bytes_per_h;
    json_out_begin(out, NULL, '{');
    json_out_text(out, "key", line->key);
    json_out_text(out, "title", line->title);
    json_out_text(out, "unit", line->unit == SOAK_UNIT_BYTES ? "bytes" : "count");
    json_out_text(out, "answer", soak_answer_name(line->answer));
    json_out_bool(out, "decides", line->decides);
    json_out_bool(out, "watched", line->watched);
    json_out_text(out, "state", verdict_state_name(verdict->state));
    soak_json_estimate(
        out, "slope_per_hour",
        (struct estimate){verdict->have_slope, slope->value, slope->low, slope->high});
    json_out_int(out, "level", verdict->level_bytes);
    json_out_int(out, "growth", verdict->growth_bytes);
    json_out_real_if(out, "explained_share", verdict->have_regressor, verdict->explained_share);
    soak_json_estimate(out, "per_iteration", line->per_iteration);
    json_budgets(out, line);
    if (line->change.compared)
        json_change(out, &line->change);
    else
        json_out_null(out, "change");
    json_out_text(out, "sentence", soak_line_text(result, line).text);
    json_out_end(out, '}');
}

static void json_jvm(struct json_out *out, const struct soak_result *result, const char *recording)
{
    const struct target_identity *who = &result->identity;
    json_out_begin(out, NULL, '{');
    json_out_int(out, "pid", who->pid);
    json_out_text(out, "main", who->main);
    json_out_text(out, "jdk", who->jdk);
    json_out_text(out, "answer", soak_answer_name(result->answer));
    json_out_bool(out, "nmt", result->have_nmt);
    json_out_int_if(out, "baseline_ms", result->warm, result->baseline_ms);
    json_out_int(out, "span_ms", result->last_ms);
    json_out_text(out, "recording", recording != NULL && recording[0] != '\0' ? recording : NULL);
    json_out_begin(out, "series", '[');
    for (int i = 0; i < result->line_count; i++)
        json_line(out, result, &result->lines[i]);
    json_out_end(out, ']');
    json_out_begin(out, "findings", '[');
    for (int i = 0; i < result->alert_count; i++)
        finding_json(out, NULL, &result->alerts[i].finding);
    json_out_end(out, ']');
    json_out_end(out, '}');
}

const char *soak_json(struct json_out *out, const struct soak_summary *summary)
{
    json_out_open(out);
    json_out_text(out, "answer", soak_answer_name(summary->answer));
    json_out_int(out, "exit_code", summary->answer);
    json_out_text(out, "sentence", soak_sentence(summary).text);
    struct soak_text advice = soak_advice(summary);
    json_out_text_if(out, "advice", advice.text);
    json_out_text_if(out, "command", summary->death);
    json_out_text(out, "against", summary->against);
    json_out_text(out, "report", summary->report);
    json_out_int(out, "wall_start_ms", summary->wall_start_ms);
    json_out_int(out, "duration_ms", summary->duration_ms);
    if (summary->chief >= 0)
        json_out_int(out, "pid", summary->results[summary->chief]->identity.pid);
    else
        json_out_null(out, "pid");
    json_out_begin(out, "jvms", '[');
    for (int i = 0; i < summary->count; i++)
        json_jvm(out, summary->results[i], summary->recordings[i]);
    json_out_end(out, ']');
    return json_out_close(out);
}

/* --- JUnit ------------------------------------------------------------------------------------ */

struct tally {
    int tests, failures, errors, skipped;
};

/* Text or attribute. The two noncharacters are valid UTF-8 but no XML. */
static void put_xml(FILE *out, const char *text)
{
    char safe[SOAK_TEXT_MAX * ESCAPE_GROWTH];
    size_t length = escape(ESCAPE_HTML, text, safe, sizeof safe);
    for (size_t i = 0; i + 2 < length; i++)
        if (memcmp(safe + i, "\xef\xbf\xbe", 3) == 0 || memcmp(safe + i, "\xef\xbf\xbf", 3) == 0)
            safe[i + 2] = '\xbd'; /* U+FFFD */
    fputs(safe, out);
}

static void attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    put_xml(out, text);
    fputc('"', out);
}

static void seconds(FILE *out, int64_t ms)
{
    ms = ms < 0 ? 0 : ms;
    fprintf(out, " time=\"%" PRId64 ".%03" PRId64 "\"", ms / 1000, ms % 1000);
}

static bool is_case(const struct soak_line *line)
{
    return line->decides || line->watched;
}

/* "failure", "error", "skipped"; NULL: passed. */
static const char *outcome_of(enum soak_answer answer, bool decides)
{
    if (answer == SOAK_FAIL)
        return "failure";
    if (answer == SOAK_UNDECIDED)
        return decides ? "error" : "skipped";
    return NULL;
}

static void count_case(struct tally *tally, const char *outcome)
{
    tally->tests++;
    if (outcome == NULL)
        return;
    tally->failures += strcmp(outcome, "failure") == 0;
    tally->errors += strcmp(outcome, "error") == 0;
    tally->skipped += strcmp(outcome, "skipped") == 0;
}

/* The text repeats the message: GitLab shows nothing but the text of an element that has one. */
static void one_case(FILE *out, const char *class_name, const char *name, int64_t ms,
                     const char *outcome, const char *type, const char *message,
                     const char *details)
{
    fputs("    <testcase", out);
    attribute(out, "classname", class_name);
    attribute(out, "name", name);
    seconds(out, ms);
    if (outcome == NULL) {
        fputs("/>\n", out);
        return;
    }
    fprintf(out, ">\n      <%s", outcome);
    if (strcmp(outcome, "skipped") != 0)
        attribute(out, "type", type);
    attribute(out, "message", message);
    fputc('>', out);
    if (strcmp(message, details) != 0) {
        put_xml(out, message);
        fputc('\n', out);
    }
    put_xml(out, details);
    fprintf(out, "</%s>\n    </testcase>\n", outcome);
}

/* An undecided series is an error where it kept the soak from an answer; of a soak that failed, often before
 * its time was over, it is no failure besides. */
static const char *line_outcome(const struct soak_summary *summary, const struct soak_line *line)
{
    return outcome_of(line->answer, line->decides && summary->answer != SOAK_FAIL);
}

static void count_jvm(const struct soak_summary *summary, const struct soak_result *result,
                      struct tally *tally)
{
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        if (is_case(line))
            count_case(tally, line_outcome(summary, line));
    }
    for (int i = 0; i < result->alert_count; i++)
        if (result->alert_fails[i])
            count_case(tally, "failure");
}

/* The soak as a whole is a case of its own: it may be undecided, or its command fail, without any
 * series to blame. */
static const char *whole_outcome(const struct soak_summary *summary)
{
    return outcome_of(summary->answer, true);
}

#define NUMBER_DIGITS 6 /* of a temporary file's name, which is another one in each build */

/* "/tmp/surefire/surefirebooter12639151093753927856.jar" -> "surefirebooter" */
static void stable_name(const char *main, char *out, size_t size)
{
    const char *slash = strrchr(main, '/'), *from = slash != NULL ? slash + 1 : main;
    size_t length = strlen(from), used = 0;
    length -= length > 4 && strcmp(from + length - 4, ".jar") == 0 ? 4 : 0;
    for (size_t i = 0; i < length && used + 1 < size;) {
        size_t digits = strspn(from + i, "0123456789"), step = digits > 0 ? digits : 1;
        if (digits < NUMBER_DIGITS)
            for (size_t j = 0; j < step && used + 1 < size; j++)
                out[used++] = from[i + j];
        i += step;
    }
    out[used] = '\0';
    if (used == 0)
        snprintf(out, size, "jvm");
}

/* Readers know a case by class and name, from build to build: JVMs of one main class are numbered. */
static void write_jvm(FILE *out, const struct soak_summary *summary, int jvm)
{
    const struct soak_result *result = summary->results[jvm];
    char class_name[EVENT_NAME_MAX + 32], stable[EVENT_NAME_MAX], other[EVENT_NAME_MAX];
    int before = 0;
    stable_name(result->identity.main, stable, sizeof stable);
    for (int i = 0; i < jvm; i++) {
        stable_name(summary->results[i]->identity.main, other, sizeof other);
        before += strcmp(other, stable) == 0;
    }
    snprintf(class_name, sizeof class_name, "nmtwatch.%s", stable);
    if (before > 0)
        text_add(class_name, sizeof class_name, "-%d", before + 1);
    int64_t ms = result->last_ms;
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        if (!is_case(line))
            continue;
        struct soak_text text = soak_line_text(result, line);
        one_case(out, class_name, line->key, ms, line_outcome(summary, line),
                 verdict_state_name(line->verdict.state), text.text, text.text);
    }
    for (int i = 0; i < result->alert_count; i++) {
        const struct finding *finding = &result->alerts[i].finding;
        char name[EVENT_FAMILY_MAX + 64];
        if (!result->alert_fails[i])
            continue;
        snprintf(name, sizeof name, "%s%s%s", finding_row(finding->kind)->id,
                 finding->family[0] != '\0' ? ": " : "", finding->family);
        one_case(out, class_name, name, ms, "failure", finding_row(finding->kind)->id,
                 finding->title, finding->advice);
    }
}

bool junit_write(const struct soak_summary *summary, FILE *out)
{
    struct tally all = {0};
    for (int i = 0; i < summary->count; i++)
        count_jvm(summary, summary->results[i], &all);
    count_case(&all, whole_outcome(summary));

    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
    attribute(out, "name", "nmtwatch soak");
    fprintf(out, " tests=\"%d\" failures=\"%d\" errors=\"%d\"", all.tests, all.failures,
            all.errors);
    seconds(out, summary->duration_ms);
    fputs(">\n  <testsuite", out);
    attribute(out, "name", "nmtwatch soak");
    fprintf(out, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\"", all.tests,
            all.failures, all.errors, all.skipped);
    seconds(out, summary->duration_ms);
    attribute(out, "timestamp", units_utc(summary->wall_start_ms, UNITS_ISO).text);
    fputs(">\n    <properties>\n", out);
    const struct {
        const char *name, *value;
    } properties[] = {{"nmtwatch.version", NMTWATCH_VERSION},
                      {"nmtwatch.report", summary->report},
                      {"nmtwatch.against", summary->against}};
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++) {
        if (properties[i].value == NULL)
            continue;
        fputs("      <property", out);
        attribute(out, "name", properties[i].name);
        attribute(out, "value", properties[i].value);
        fputs("/>\n", out);
    }
    fputs("    </properties>\n", out);
    struct soak_text sentence = soak_sentence(summary), advice = soak_advice(summary);
    one_case(out, "nmtwatch.soak", "verdict", summary->duration_ms, whole_outcome(summary),
             summary->answer == SOAK_FAIL ? "growth" : "undecided", sentence.text,
             advice.text[0] != '\0' ? advice.text : sentence.text);
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < summary->count; i++)
            if (rank_of(summary, i) == rank)
                write_jvm(out, summary, i);
    fputs("    <system-out>", out);
    put_xml(out, sentence.text);
    if (summary->death[0] != '\0') {
        fputs("\n", out);
        put_xml(out, summary->death);
    }
    fputs("</system-out>\n  </testsuite>\n</testsuites>\n", out);
    return fflush(out) == 0 && !ferror(out);
}

/* --- TAP -------------------------------------------------------------------------------------- */

/* '#' begins a directive and a newline another test: neither may come from a name. */
static void put_tap(FILE *out, const char *text)
{
    char safe[SOAK_TEXT_MAX * 2];
    escape(ESCAPE_TERMINAL, text, safe, sizeof safe);
    for (char *at = safe; *at != '\0'; at++)
        fputc(*at == '#' ? '.' : *at, out);
}

static void tap_line(FILE *out, int *number, enum soak_answer answer, bool decides,
                     const char *text)
{
    bool ok = answer == SOAK_PASS || (answer == SOAK_UNDECIDED && !decides);
    fprintf(out, "%sok %d - ", ok ? "" : "not ", ++*number);
    put_tap(out, text);
    fputs(answer == SOAK_UNDECIDED && !decides ? " # SKIP undecided\n" : "\n", out);
}

bool tap_write(const struct soak_summary *summary, FILE *out)
{
    int number = 0;
    fputs("TAP version 13\n", out);
    tap_line(out, &number, summary->answer, true, soak_sentence(summary).text);
    if (summary->death[0] != '\0') {
        fputs("# ", out);
        put_tap(out, summary->death);
        fputc('\n', out);
    }
    for (int i = 0; i < summary->count; i++) {
        const struct soak_result *result = summary->results[i];
        for (int j = 0; j < result->line_count; j++) {
            const struct soak_line *line = &result->lines[j];
            if (line->decides || line->watched)
                tap_line(out, &number, line->answer, line->decides,
                         soak_line_text(result, line).text);
        }
        for (int j = 0; j < result->alert_count; j++)
            if (result->alert_fails[j])
                tap_line(out, &number, SOAK_FAIL, true, result->alerts[j].finding.title);
    }
    fprintf(out, "1..%d\n", number);
    return fflush(out) == 0 && !ferror(out);
}
