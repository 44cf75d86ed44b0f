#include "reports/metrics/prometheus_rules.h"

#include "reports/text/escape.h"

#include <ctype.h>
#include <inttypes.h>

#define EXPRESSION_MAX 2048
#define KEEPS          "$(clear_after_s)s"

/* Rows of growth.def: what `serve` says counts where it says it; elsewhere a slope of ten minutes, and growth in the
 * last five, because a slope over a long window stays up long after the growth has ended. */
#define REPORTED(finding) "nmtwatch_alerts_active{finding=\"" finding "\"} > 0"
#define SLOPE(finding, key, metric)                                                                \
    REPORTED(finding)                                                                              \
    "\nor (\nderiv(" metric "[10m]) * 600 > $(" key ")\nand delta(" metric                         \
    "[5m]) > 0\n) unless on (job, instance, target) nmtwatch_alerts_active"
#define GROWTH_NONE(finding, alert, expression)
#define GROWTH_GROWTH_BYTES(finding, alert, expression)   RULE(finding, alert, "1m", expression)
#define GROWTH_GROWTH_THREADS(finding, alert, expression) RULE(finding, alert, "1m", expression)

static const struct prometheus_rule RULES[] = {
#define RULE(finding, alert, lasts, expression) {FINDING_##finding, alert, lasts, expression},
#define GROWTH(id, finding, threshold, ask_ms, words, alert, expression)                           \
    GROWTH_##threshold(finding, alert, expression)
#include "analyzers/judge/growth.def"
#undef REPORTED
#include "reports/metrics/prometheus_rules.def"
#undef RULE
};
#define RULE_COUNT (sizeof RULES / sizeof RULES[0])

_Static_assert(RULE_COUNT == FINDING_WATCH_COUNT, "every alert has its rule");

const struct prometheus_rule *prometheus_rule_at(size_t index)
{
    return index < RULE_COUNT ? &RULES[index] : NULL;
}

bool prometheus_rule_fill(const char *template, const struct thresholds *thresholds, char *out,
                          size_t size)
{
    size_t length = 0;
    while (*template != '\0' && length + 1 < size) {
        if (strncmp(template, "$(", 2) != 0) {
            out[length++] = *template ++;
            continue;
        }
        const char *end = strchr(template, ')');
        if (end == NULL)
            return false;
        char key[64];
        span_copy(span_of(template + 2, (size_t)(end - template) - 2), key, sizeof key);
        enum threshold threshold = threshold_from_key(key);
        if (threshold == THRESHOLD_COUNT)
            return false;
        int written =
            snprintf(out + length, size - length, "%" PRId64, thresholds->value[threshold]);
        if ((size_t)written >= size - length)
            return false;
        length += (size_t)written;
        template = end + 1;
    }
    out[length] = '\0';
    return *template == '\0';
}

/* The texts of one rule, filled. */
struct rule_text {
    char lasts[32], keeps[32], expression[EXPRESSION_MAX], severity[16], summary[512];
    char runbook[640], explain[64];
};

static bool rule_text(const struct prometheus_rule *rule, const struct thresholds *thresholds,
                      const char *runbooks, struct rule_text *text)
{
    const struct finding_row *finding = finding_row(rule->finding);
    if (!prometheus_rule_fill(rule->lasts, thresholds, text->lasts, sizeof text->lasts) ||
        !prometheus_rule_fill(KEEPS, thresholds, text->keeps, sizeof text->keeps) ||
        !prometheus_rule_fill(rule->expression, thresholds, text->expression,
                              sizeof text->expression))
        return false;
    snprintf(text->severity, sizeof text->severity, "%s", severity_name(finding->severity));
    for (char *at = text->severity; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    snprintf(text->summary, sizeof text->summary,
             "{{ with $labels.target }}{{ . }} on {{ end }}{{ $labels.instance }}: %s",
             finding->title);
    snprintf(text->explain, sizeof text->explain, "nmtwatch explain %s", finding->id);
    return finding_runbook_url(rule->finding, runbooks, text->runbook, sizeof text->runbook);
}

/* A scalar in double quotes: YAML takes JSON's. */
static void put_scalar(FILE *out, const char *indent, const char *key, const char *text)
{
    char escaped[4096];
    escape(ESCAPE_JSON, text, escaped, sizeof escaped);
    fprintf(out, "%s%s: \"%s\"\n", indent, key, escaped);
}

static void put_block(FILE *out, const char *text)
{
    fputs("        expr: |\n          ", out);
    for (; *text != '\0'; text++) {
        fputc(*text, out);
        if (*text == '\n')
            fputs("          ", out);
    }
    fputc('\n', out);
}

bool prometheus_rules_yaml(const struct thresholds *thresholds, const char *runbooks, FILE *out)
{
    fputs("# Prometheus alerting rules, written by nmtwatch " NMTWATCH_VERSION " from its table of "
          "thresholds.\n"
          "# jvm_* and process_* come from client_java or from `nmtwatch serve`, nmtwatch_* from\n"
          "# `nmtwatch serve` alone: without it the rules on them stay silent.\n"
          "groups:\n"
          "  - name: nmtwatch\n"
          "    rules:\n",
          out);
    for (size_t i = 0; i < RULE_COUNT; i++) {
        struct rule_text text;
        if (!rule_text(&RULES[i], thresholds, runbooks, &text))
            return false;
        const struct finding_row *finding = finding_row(RULES[i].finding);
        fprintf(out, "      - alert: %s\n", RULES[i].alert);
        put_block(out, text.expression);
        fprintf(out, "        for: %s\n        keep_firing_for: %s\n        labels:\n", text.lasts,
                text.keeps);
        put_scalar(out, "          ", "severity", text.severity);
        put_scalar(out, "          ", "finding", finding->id);
        fputs("        annotations:\n", out);
        put_scalar(out, "          ", "summary", text.summary);
        put_scalar(out, "          ", "description", finding->advice);
        put_scalar(out, "          ", "runbook_url", text.runbook);
        put_scalar(out, "          ", "explain", text.explain);
    }
    return !ferror(out);
}

const char *prometheus_rules_json(struct json_out *out, const struct thresholds *thresholds,
                                  const char *runbooks)
{
    json_out_open(out);
    json_out_begin(out, "groups", '[');
    json_out_begin(out, NULL, '{');
    json_out_text(out, "name", "nmtwatch");
    json_out_begin(out, "rules", '[');
    for (size_t i = 0; i < RULE_COUNT; i++) {
        struct rule_text text;
        if (!rule_text(&RULES[i], thresholds, runbooks, &text))
            return NULL;
        const struct finding_row *finding = finding_row(RULES[i].finding);
        json_out_begin(out, NULL, '{');
        json_out_text(out, "alert", RULES[i].alert);
        json_out_text(out, "expr", text.expression);
        json_out_text(out, "for", text.lasts);
        json_out_text(out, "keep_firing_for", text.keeps);
        json_out_begin(out, "labels", '{');
        json_out_text(out, "severity", text.severity);
        json_out_text(out, "finding", finding->id);
        json_out_end(out, '}');
        json_out_begin(out, "annotations", '{');
        json_out_text(out, "summary", text.summary);
        json_out_text(out, "description", finding->advice);
        json_out_text(out, "runbook_url", text.runbook);
        json_out_text(out, "explain", text.explain);
        json_out_end(out, '}');
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
    json_out_end(out, ']');
    return json_out_close(out);
}
