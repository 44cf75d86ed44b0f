#include "reports/tap.h"

#include "reports/escape.h"

/* '#' begins a directive and a newline another test: neither may come from a name. */
static void put(FILE *out, const char *text)
{
    char safe[SOAK_TEXT_MAX * 2];
    escape(ESCAPE_TERMINAL, text, safe, sizeof safe);
    for (char *at = safe; *at != '\0'; at++)
        fputc(*at == '#' ? '.' : *at, out);
}

static void one(FILE *out, int *number, enum soak_answer answer, bool decides, const char *text)
{
    bool ok = answer == SOAK_PASS || (answer == SOAK_UNDECIDED && !decides);
    fprintf(out, "%sok %d - ", ok ? "" : "not ", ++*number);
    put(out, text);
    fputs(answer == SOAK_UNDECIDED && !decides ? " # SKIP undecided\n" : "\n", out);
}

bool tap_write(const struct soak_summary *summary, FILE *out)
{
    int number = 0;
    fputs("TAP version 13\n", out);
    one(out, &number, summary->answer, true, soak_sentence(summary).text);
    if (summary->death[0] != '\0') {
        fputs("# ", out);
        put(out, summary->death);
        fputc('\n', out);
    }
    for (int i = 0; i < summary->count; i++) {
        const struct soak_result *result = summary->results[i];
        for (int j = 0; j < result->line_count; j++) {
            const struct soak_line *line = &result->lines[j];
            if (line->decides || line->watched)
                one(out, &number, line->answer, line->decides, soak_line_text(result, line).text);
        }
        for (int j = 0; j < result->alert_count; j++) {
            if (result->alert_fails[j])
                one(out, &number, SOAK_FAIL, true, result->alerts[j].finding.title);
        }
    }
    fprintf(out, "1..%d\n", number);
    return fflush(out) == 0 && !ferror(out);
}
