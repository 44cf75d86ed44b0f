#include "reports/soak_terminal.h"

#include "reports/escape.h"
#include "reports/units.h"

#include <string.h>

static const char *paint(const struct terminal *terminal, enum soak_answer answer)
{
    if (!terminal->colour)
        return "";
    return answer == SOAK_PASS ? "\033[1;32m" : answer == SOAK_FAIL ? "\033[1;31m" : "\033[1;33m";
}

static const char *plain(const struct terminal *terminal)
{
    return terminal->colour ? "\033[0m" : "";
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

static void put_line(const struct terminal *terminal, const struct soak_result *result,
                     const struct soak_line *line)
{
    const struct verdict *verdict = &line->verdict;
    bool compared = result->compared && line->change.compared;
    struct estimate slope = {verdict->have_slope, verdict->slope_bytes_per_h.value,
                             verdict->slope_bytes_per_h.low, verdict->slope_bytes_per_h.high};
    if (compared)
        slope = line->change.slope;
    char budgets[160] = "";
    for (int i = 0; i < line->outcome_count; i++) {
        size_t length = strlen(budgets);
        snprintf(budgets + length, sizeof budgets - length, "%s%s", i > 0 ? "," : "",
                 line->outcomes[i].budget->text);
    }
    fprintf(terminal->out, "  %-22.22s %-12s %10s %10s %12s %-24s %-10s %s%s%s\n", line->title,
            verdict_state_name(verdict->state),
            soak_amount_text(line->unit, (double)verdict->level_bytes).text,
            compared ? soak_growth_text(line->unit, line->change.level.value).text
                     : soak_growth_text(line->unit, (double)verdict->growth_bytes).text,
            slope.known ? soak_rate_text(line->unit, slope.value).text : "-",
            slope.known ? soak_interval_text(line->unit, slope).text : "-",
            budgets[0] != '\0' ? budgets : "-", line->watched ? paint(terminal, line->answer) : "",
            word(line), plain(terminal));
}

static void put_iterations(const struct terminal *terminal, const struct soak_result *result)
{
    if (!result->counted)
        return;
    fprintf(terminal->out, "  iterations: %.6g to %.6g\n", result->counter_from,
            result->counter_to);
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        bool moves = line->per_iteration.low > 0 || line->per_iteration.high < 0;
        if (line->per_iteration.known && (line->decides || moves))
            fprintf(terminal->out, "    %-22.22s %s per iteration, 95 %% %s\n", line->title,
                    soak_growth_text(line->unit, line->per_iteration.value).text,
                    soak_interval_text(line->unit, line->per_iteration).text);
    }
}

static void put_jvm(const struct terminal *terminal, const struct soak_summary *summary,
                    const struct soak_result *result)
{
    const struct target_identity *who = &result->identity;
    fprintf(terminal->out, "pid %lld, %s, JDK %s: %s\n", (long long)who->pid,
            escape_name(who->main[0] != '\0' ? who->main : "?").text,
            escape_name(who->jdk[0] != '\0' ? who->jdk : "?").text,
            result->warm ? escape_name(result->warmup_reason).text : "warm-up had not ended");
    bool compared = result->compared;
    fprintf(terminal->out, "  %-22s %-12s %10s %10s %12s %-24s %-10s %s\n", "series", "state",
            "now", compared ? "change" : "growth", compared ? "slope diff" : "slope",
            "95 % interval", "budget", "answer");
    for (int i = 0; i < result->line_count; i++) {
        if (soak_line_matters(&result->lines[i]))
            put_line(terminal, result, &result->lines[i]);
    }
    put_iterations(terminal, result);
    if (summary->against != NULL && result->against[0] != '\0')
        fprintf(terminal->out, "  against %s: %s\n", escape_name(summary->against).text,
                escape_name(result->against).text);
    for (int i = 0; i < result->alert_count; i++) {
        const struct finding *finding = &result->alerts[i].finding;
        fprintf(terminal->out, "  %s%s%s %s%s\n",
                result->alert_fails[i] ? paint(terminal, SOAK_FAIL) : "",
                severity_name(finding->severity), plain(terminal), finding_row(finding->kind)->id,
                result->alert_over[i] ? ", over by now" : "");
        terminal_wrapped(terminal, 4, finding->title);
    }
}

void soak_terminal(const struct terminal *terminal, const struct soak_summary *summary)
{
    for (int i = 0; i < summary->count; i++) {
        put_jvm(terminal, summary, summary->results[i]);
        fputc('\n', terminal->out);
    }
    if (summary->death[0] != '\0')
        fprintf(terminal->out, "%c%s.\n", summary->death[0] - 'a' + 'A',
                escape_name(summary->death + 1).text);
    fprintf(terminal->out, "%s%s%s\n", paint(terminal, summary->answer),
            soak_answer_name(summary->answer), plain(terminal));
    terminal_wrapped(terminal, 2, soak_sentence(summary).text);
    struct soak_text advice = soak_advice(summary);
    if (advice.text[0] != '\0')
        terminal_wrapped(terminal, 2, advice.text);
    for (int i = 0; i < summary->count; i++) {
        if (summary->recordings[i] != NULL && summary->recordings[i][0] != '\0')
            fprintf(terminal->out, "  recording: %s\n", escape_name(summary->recordings[i]).text);
    }
    if (summary->report != NULL)
        fprintf(terminal->out, "  report: %s\n", escape_name(summary->report).text);
}
