#include "reports/soak_json.h"

#include "reports/finding_json.h"

#include <math.h>

void soak_json_estimate(struct json_out *out, const char *key, struct estimate estimate)
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

static void put_budgets(struct json_out *out, const struct soak_line *line)
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
        if (outcome->needs_ms > 0)
            json_out_int(out, "needs_ms", outcome->needs_ms);
        else
            json_out_null(out, "needs_ms");
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void put_change(struct json_out *out, const struct soak_change *change)
{
    json_out_begin(out, "change", '{');
    json_out_text(out, "answer", soak_answer_name(change->answer));
    soak_json_estimate(out, "slope_per_hour", change->slope);
    soak_json_estimate(out, "level", change->level);
    json_out_real(out, "slope_margin", change->slope_margin);
    json_out_real(out, "level_margin", change->level_margin);
    json_out_end(out, '}');
}

static void put_line(struct json_out *out, const struct soak_result *result,
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
    if (verdict->have_driver)
        json_out_real(out, "explained_share", verdict->explained_share);
    else
        json_out_null(out, "explained_share");
    soak_json_estimate(out, "per_iteration", line->per_iteration);
    put_budgets(out, line);
    if (line->change.compared)
        put_change(out, &line->change);
    else
        json_out_null(out, "change");
    json_out_text(out, "sentence", soak_line_text(result, line).text);
    json_out_end(out, '}');
}

static void put_jvm(struct json_out *out, const struct soak_result *result, const char *recording)
{
    const struct target_identity *who = &result->identity;
    json_out_begin(out, NULL, '{');
    json_out_int(out, "pid", who->pid);
    json_out_text(out, "main", who->main);
    json_out_text(out, "jdk", who->jdk);
    json_out_text(out, "answer", soak_answer_name(result->answer));
    json_out_bool(out, "nmt", result->have_nmt);
    if (result->warm)
        json_out_int(out, "baseline_ms", result->baseline_ms);
    else
        json_out_null(out, "baseline_ms");
    json_out_int(out, "span_ms", result->last_ms);
    json_out_text(out, "recording", recording != NULL && recording[0] != '\0' ? recording : NULL);
    json_out_begin(out, "series", '[');
    for (int i = 0; i < result->line_count; i++)
        put_line(out, result, &result->lines[i]);
    json_out_end(out, ']');
    json_out_begin(out, "findings", '[');
    for (int i = 0; i < result->alert_count; i++)
        finding_json(out, NULL, &result->alerts[i].finding);
    json_out_end(out, ']');
    json_out_end(out, '}');
}

const char *soak_json(struct json_out *out, const struct soak_summary *summary)
{
    json_out_reset(out);
    json_out_begin(out, NULL, '{');
    json_out_text(out, "answer", soak_answer_name(summary->answer));
    json_out_int(out, "exit_code", summary->answer);
    json_out_text(out, "sentence", soak_sentence(summary).text);
    struct soak_text advice = soak_advice(summary);
    json_out_text(out, "advice", advice.text[0] != '\0' ? advice.text : NULL);
    json_out_text(out, "command", summary->death[0] != '\0' ? summary->death : NULL);
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
        put_jvm(out, summary->results[i], summary->recordings[i]);
    json_out_end(out, ']');
    json_out_end(out, '}');
    size_t length;
    return json_out_line(out, &length);
}
