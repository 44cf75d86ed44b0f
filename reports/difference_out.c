/* A difference for people and for programs. */
#include "reports/difference.h"

#include "reports/escape.h"
#include "reports/soak_json.h"
#include "reports/units.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 12 /* of families and loaders each, for people */

static const char *mark(enum significance significance)
{
    return significance == SIGNIFICANCE_REAL    ? "yes"
           : significance == SIGNIFICANCE_NOISE ? "noise"
                                                : "?";
}

/* --- people ----------------------------------------------------------------------------------- */

static void put_side(const struct terminal *terminal, const char *name,
                     const struct difference_side *side)
{
    const struct target_identity *who = &side->story->identity;
    fprintf(terminal->out, "%s  %s at %s: pid %lld, %s, JDK %s\n", name,
            escape_name(side->file).text, units_duration(side->at_ms).text, (long long)who->pid,
            escape_name(who->main[0] != '\0' ? who->main : "?").text,
            escape_name(who->jdk[0] != '\0' ? who->jdk : "?").text);
}

static bool is_silent(const struct difference_series *series)
{
    double least = series->unit == SOAK_UNIT_BYTES ? 1024 : 1;
    return series->have_a && series->have_b && series->significance != SIGNIFICANCE_REAL &&
           fabs(series->value_b - series->value_a) < least;
}

static void put_series(const struct terminal *terminal, const struct difference_series *series)
{
    bool both = series->have_a && series->have_b;
    fprintf(terminal->out, "  %-24.24s %12s %12s %12s  %-26s %s\n", series->title,
            series->have_a ? soak_amount_text(series->unit, series->value_a).text : "-",
            series->have_b ? soak_amount_text(series->unit, series->value_b).text : "-",
            both ? soak_growth_text(series->unit, series->value_b - series->value_a).text : "-",
            series->change.known ? soak_interval_text(series->unit, series->change).text : "-",
            mark(series->significance));
}

static struct units_text count_text(int64_t count)
{
    struct units_text none = {"-"};
    return count < 0 ? none : units_count(count);
}

static struct units_text rate_text(double per_s)
{
    struct units_text none = {"-"};
    return per_s < 0 ? none : units_rate(per_s);
}

static void put_families(const struct terminal *terminal, const struct difference *difference,
                         bool all)
{
    if (difference->family_count == 0)
        return;
    fprintf(terminal->out, "\n  %-34s %10s %10s %10s %10s  %s\n", "family of classes", "A", "B",
            "A rate", "B rate", "differs");
    for (int i = 0; i < difference->family_count && (all || i < ROWS_MAX); i++) {
        const struct difference_family *row = &difference->families[i];
        fprintf(terminal->out, "  %-34.60s %10s %10s %10s %10s  %s\n",
                escape_name(row->family).text, count_text(row->classes_a).text,
                count_text(row->classes_b).text, rate_text(row->per_s_a).text,
                rate_text(row->per_s_b).text, mark(row->significance));
    }
}

static void put_loaders(const struct terminal *terminal, const struct difference *difference,
                        bool all)
{
    int shown = 0;
    for (int i = 0; i < difference->loader_count && (all || shown < ROWS_MAX); i++) {
        const struct difference_loader *row = &difference->loaders[i];
        if (row->loaders_a == row->loaders_b && !all)
            continue;
        if (shown++ == 0)
            fprintf(terminal->out, "\n  %-56s %10s %10s\n", "class loaders of type", "A", "B");
        fprintf(terminal->out, "  %-56.90s %10s %10s\n", escape_name(row->type).text,
                count_text(row->loaders_a).text, count_text(row->loaders_b).text);
    }
}

void difference_terminal(const struct terminal *terminal, const struct difference *difference,
                         bool all)
{
    int silent = 0;
    put_side(terminal, "A", &difference->a);
    put_side(terminal, "B", &difference->b);
    fprintf(terminal->out, "\n  %-24s %12s %12s %12s  %-26s %s\n", "", "A", "B", "B - A",
            "95 % interval", "differs");
    for (int i = 0; i < difference->series_count; i++) {
        bool hidden = !all && is_silent(&difference->series[i]);
        silent += hidden;
        if (!hidden)
            put_series(terminal, &difference->series[i]);
    }
    if (silent > 0)
        fprintf(terminal->out, "  %d more did not change\n", silent);
    put_families(terminal, difference, all);
    put_loaders(terminal, difference, all);
    fprintf(terminal->out, "\nyes: more than the noise within the %s before each moment%s\n",
            units_duration(difference->a.window_ms).text,
            difference->same_recording
                ? "."
                : ". Two runs of the same program differ by more than that: compare several.");
}

/* --- programs --------------------------------------------------------------------------------- */

static void json_side(struct json_out *out, const char *key, const struct difference_side *side)
{
    const struct target_identity *who = &side->story->identity;
    json_out_begin(out, key, '{');
    json_out_text(out, "file", side->file);
    json_out_int(out, "at_ms", side->at_ms);
    json_out_int(out, "window_ms", side->window_ms);
    json_out_int(out, "pid", who->pid);
    json_out_text(out, "main", who->main);
    json_out_text(out, "jdk", who->jdk);
    json_out_end(out, '}');
}

static void json_significance(struct json_out *out, enum significance significance)
{
    if (significance == SIGNIFICANCE_UNKNOWN)
        json_out_null(out, "significant");
    else
        json_out_bool(out, "significant", significance == SIGNIFICANCE_REAL);
}

static void json_number(struct json_out *out, const char *key, bool known, double value)
{
    if (known)
        json_out_real(out, key, value);
    else
        json_out_null(out, key);
}

static void json_series(struct json_out *out, const struct difference_series *series)
{
    bool both = series->have_a && series->have_b;
    json_out_begin(out, NULL, '{');
    json_out_text(out, "key", series->key);
    json_out_text(out, "title", series->title);
    json_out_text(out, "unit", series->unit == SOAK_UNIT_BYTES ? "bytes" : "count");
    json_number(out, "a", series->have_a, series->value_a);
    json_number(out, "b", series->have_b, series->value_b);
    json_number(out, "change", both, series->value_b - series->value_a);
    json_number(out, "low", series->change.known, series->change.low);
    json_number(out, "high", series->change.known, series->change.high);
    json_significance(out, series->significance);
    json_out_end(out, '}');
}

static void json_count(struct json_out *out, const char *key, int64_t count)
{
    if (count < 0)
        json_out_null(out, key);
    else
        json_out_int(out, key, count);
}

const char *difference_json(struct json_out *out, const struct difference *difference)
{
    json_out_reset(out);
    json_out_begin(out, NULL, '{');
    json_side(out, "a", &difference->a);
    json_side(out, "b", &difference->b);
    json_out_begin(out, "series", '[');
    for (int i = 0; i < difference->series_count; i++)
        json_series(out, &difference->series[i]);
    json_out_end(out, ']');
    json_out_begin(out, "families", '[');
    for (int i = 0; i < difference->family_count; i++) {
        const struct difference_family *row = &difference->families[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "family", row->family);
        json_out_text(out, "stem", row->stem);
        json_count(out, "a", row->classes_a);
        json_count(out, "b", row->classes_b);
        json_number(out, "a_per_s", row->per_s_a >= 0, row->per_s_a);
        json_number(out, "b_per_s", row->per_s_b >= 0, row->per_s_b);
        json_significance(out, row->significance);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_begin(out, "loaders", '[');
    for (int i = 0; i < difference->loader_count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_text(out, "type", difference->loaders[i].type);
        json_count(out, "a", difference->loaders[i].loaders_a);
        json_count(out, "b", difference->loaders[i].loaders_b);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
    size_t length;
    return json_out_line(out, &length);
}
