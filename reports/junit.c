#include "reports/junit.h"

#include "reports/escape.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

struct tally {
    int tests, failures, errors, skipped;
};

/* Text or attribute. The two noncharacters are valid UTF-8 but no XML. */
static void put(FILE *out, const char *text)
{
    char safe[SOAK_TEXT_MAX * ESCAPE_GROWTH];
    size_t length = escape(ESCAPE_HTML, text, safe, sizeof safe);
    for (size_t i = 0; i + 2 < length; i++) {
        if (memcmp(safe + i, "\xef\xbf\xbe", 3) == 0 || memcmp(safe + i, "\xef\xbf\xbf", 3) == 0)
            safe[i + 2] = '\xbd'; /* U+FFFD */
    }
    fputs(safe, out);
}

static void attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    put(out, text);
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

static void add(struct tally *tally, const char *outcome)
{
    tally->tests++;
    if (outcome == NULL)
        return;
    tally->failures += strcmp(outcome, "failure") == 0;
    tally->errors += strcmp(outcome, "error") == 0;
    tally->skipped += strcmp(outcome, "skipped") == 0;
}

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
    put(out, details);
    fprintf(out, "</%s>\n    </testcase>\n", outcome);
}

static void count_jvm(const struct soak_result *result, struct tally *tally)
{
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        if (is_case(line))
            add(tally, outcome_of(line->answer, line->decides));
    }
    for (int i = 0; i < result->alert_count; i++) {
        if (result->alert_fails[i])
            add(tally, "failure");
    }
}

/* The soak as a whole is a case of its own: it may be undecided, or its command fail, without any
 * series to blame. */
static const char *whole_outcome(const struct soak_summary *summary)
{
    return outcome_of(summary->answer, true);
}

static void write_jvm(FILE *out, const struct soak_result *result)
{
    char class_name[EVENT_NAME_MAX + 32];
    snprintf(class_name, sizeof class_name, "nmtwatch.%s",
             result->identity.main[0] != '\0' ? result->identity.main : "jvm");
    int64_t ms = result->last_ms;
    for (int i = 0; i < result->line_count; i++) {
        const struct soak_line *line = &result->lines[i];
        if (!is_case(line))
            continue;
        struct soak_text text = soak_line_text(result, line);
        one_case(out, class_name, line->key, ms, outcome_of(line->answer, line->decides),
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
    char stamp[32] = "1970-01-01T00:00:00";
    time_t start = (time_t)(summary->wall_start_ms / 1000);
    struct tm utc;
    for (int i = 0; i < summary->count; i++)
        count_jvm(summary->results[i], &all);
    add(&all, whole_outcome(summary));
    if (gmtime_r(&start, &utc) != NULL)
        strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);

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
    attribute(out, "timestamp", stamp);
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
    for (int i = 0; i < summary->count; i++)
        write_jvm(out, summary->results[i]);
    fputs("    <system-out>", out);
    put(out, sentence.text);
    if (summary->death[0] != '\0') {
        fputs("\n", out);
        put(out, summary->death);
    }
    fputs("</system-out>\n  </testsuite>\n</testsuites>\n", out);
    return fflush(out) == 0 && !ferror(out);
}
