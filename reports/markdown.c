#include "reports/markdown.h"

#include "analyzers/classes/family.h"
#include "reports/escape.h"
#include "reports/evidence.h"
#include "reports/units.h"

#include <inttypes.h>
#include <time.h>

static void put(FILE *out, const char *text)
{
    char escaped[8192]; /* the longest field is 1200 bytes */
    escape(ESCAPE_MARKDOWN, text, escaped, sizeof escaped);
    fputs(escaped, out);
}

/* "| text " of a table row; a missing text is a dash. */
static void put_cell(FILE *out, const char *text)
{
    fputs("| ", out);
    put(out, text[0] != '\0' ? text : "-");
    fputs(" ", out);
}

static void put_count_cell(FILE *out, int64_t count)
{
    put_cell(out, count < 0 ? "" : units_count(count).text);
}

static void put_fact(FILE *out, const char *name, const char *value)
{
    fprintf(out, "- %s: ", name);
    put(out, value);
    fputs("\n", out);
}

static void put_change(const struct story *story, FILE *out, const char *name,
                       enum sample_field field)
{
    int64_t first, last;
    char text[128];
    if (!story_first_last(story, field, &first, &last))
        return;
    const char *key = sample_field_key(field);
    snprintf(text, sizeof text, "%s at first, %s at last", units_figure(key, first).text,
             units_figure(key, last).text);
    put_fact(out, name, text);
}

static void put_facts(const struct story *story, FILE *out)
{
    const struct target_identity *identity = &story->identity;
    char text[512];
    snprintf(text, sizeof text, "%s, pid %" PRId64,
             identity->main[0] != '\0' ? identity->main : "JVM", identity->pid);
    put_fact(out, "JVM", text);
    put_fact(out, "JDK", identity->jdk);
    time_t seconds = (time_t)(story->wall_start_ms / 1000);
    struct tm utc;
    char began[64] = "";
    if (gmtime_r(&seconds, &utc) != NULL)
        strftime(began, sizeof began, "%Y-%m-%d %H:%M:%S UTC", &utc);
    snprintf(text, sizeof text, "%s from %s", units_duration(story_span_ms(story)).text, began);
    put_fact(out, "watched", text);
    put_fact(out, "Native Memory Tracking", identity->nmt_level);
    bool baseline = story->view.baseline_ms >= 0;
    if (baseline)
        snprintf(text, sizeof text, "taken %s into the watch: %s",
                 units_duration(story->view.baseline_ms).text, story->view.warmup_reason);
    else
        snprintf(text, sizeof text, "none: warm-up had not ended");
    put_fact(out, "baseline", text);
    if (baseline && story->view.have_internal)
        put_fact(out, "Internal since the baseline",
                 units_growth(story->view.internal_growth_bytes).text);
    if (baseline && story->view.have_class_metaspace)
        put_fact(out, "Class + Metaspace since the baseline",
                 units_growth(story->view.class_metaspace_growth_bytes).text);
    put_change(story, out, "the agent, outside of NMT", SAMPLE_AGENT_RESIDENT_BYTES);
    put_change(story, out, "its jmethodIDs, inside of NMT", SAMPLE_AGENT_JMETHOD_ID_BYTES);
    if (story->damage[0] != '\0')
        put_fact(out, "**the recording is damaged**, this is what stands before the damage",
                 story->damage);
}

static void put_alerts(const struct story *story, FILE *out)
{
    int number = 0;
    fputs("\n## Alerts\n\n", out);
    if (story_raised(story) == 0)
        fputs("None was raised.\n", out);
    for (int i = 0; i < story->alert_count; i++) {
        const struct alert *alert = &story->alerts[i];
        const struct finding *finding = &alert->finding;
        if (alert->state != ALERT_RAISED)
            continue;
        int64_t cleared_ms = story_cleared_ms(story, i);
        fprintf(out, "%d. **%s** `%s` at %s", ++number, severity_name(finding->severity),
                finding_row(finding->kind)->id, units_clock(alert->ms).text);
        if (cleared_ms >= 0)
            fprintf(out, ", cleared at %s", units_clock(cleared_ms).text);
        fputs(": ", out);
        put(out, finding->title);
        fputs("  \n   ", out);
        put(out, finding->advice);
        fputs("\n", out);
        for (int e = 0; e < finding->evidence_count; e++) {
            struct evidence_text text = evidence_text(&finding->evidence[e]);
            fputs(e == 0 ? "   Evidence: " : "; ", out);
            put(out, text.label);
            fputs(" ", out);
            put(out, text.value);
        }
        if (finding->evidence_count > 0)
            fputs(".\n", out);
    }
    if (story->alerts_dropped > 0)
        fprintf(out, "\n%" PRId64 " more raisings and clearings are not shown.\n",
                story->alerts_dropped);
}

static void put_families(const struct story *story, FILE *out)
{
    if (story->family_count == 0)
        return;
    fputs("\n## Families of generated classes\n\n"
          "| Family | Producer | Rate | Loaded | Unloaded | Alive | Most of one name | Example | "
          "Change |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |\n",
          out);
    for (int i = 0; i < story->family_count; i++) {
        const struct story_family *seen = &story->families[i];
        const struct family *family = family_by_id(seen->row.family);
        bool flow = seen->method == CENSUS_TAP;
        double per_s;
        put_cell(out, seen->row.family);
        put_cell(out, family != NULL ? family->producer : "unknown");
        put_cell(out, story_family_rate(seen, &per_s) ? units_rate(per_s).text : "");
        put_count_cell(out, flow ? seen->row.loads : -1);
        put_count_cell(out, flow ? seen->row.unloads : -1);
        put_count_cell(out, seen->alive);
        put_count_cell(out, seen->row.max_same_name > 0 ? seen->row.max_same_name : -1);
        put_cell(out, seen->row.example);
        put_cell(out, family != NULL ? family->fix : "find what defines them, cache it");
        fputs("|\n", out);
    }
    if (story->families_dropped > 0)
        fprintf(out, "\n%" PRId64 " rows of smaller families are not shown.\n",
                story->families_dropped);
}

static void put_loaders(const struct story *story, FILE *out)
{
    if (story->loader_count == 0)
        return;
    fputs("\n## Class loaders\n\n| Type | At first | At last | Classes | Chunks |\n"
          "| --- | ---: | ---: | ---: | ---: |\n",
          out);
    for (int i = 0; i < story->loader_count; i++) {
        put_cell(out, story->loaders[i].type);
        put_count_cell(out, story->loaders_at_first[i]);
        put_count_cell(out, story->loaders[i].loaders);
        put_count_cell(out, story->loaders[i].classes);
        put_cell(out, units_bytes(story->loaders[i].chunk_bytes).text);
        fputs("|\n", out);
    }
}

static void put_cost(const struct story *story, FILE *out)
{
    fputs("\n## What the watching cost\n\n", out);
    if (story->watch_cost[0] != '\0') {
        put(out, story->watch_cost);
        fputs("\n\n", out);
    }
    if (story->cost_count == 0) {
        fputs("No command that stops the application was used.\n", out);
        return;
    }
    fputs("| Command | Runs | Pauses, at most | Longest | Skipped | Last skipped because |\n"
          "| --- | ---: | ---: | ---: | ---: | --- |\n",
          out);
    for (int i = 0; i < story->cost_count; i++) {
        const struct story_cost *cost = &story->costs[i];
        put_cell(out, cost->command);
        put_count_cell(out, cost->runs);
        put_cell(out, units_microseconds(cost->measured_us).text);
        put_cell(out, units_microseconds(cost->worst_us).text);
        put_count_cell(out, cost->skipped);
        put_cell(out, cost->last_skip_reason);
        fputs("|\n", out);
    }
}

static void put_notes(const struct story *story, FILE *out)
{
    if (story->note_count == 0)
        return;
    fputs("\n## Notes\n\n", out);
    for (int i = 0; i < story->note_count; i++)
        put_fact(out, units_clock(story->notes[i].ms).text, story->notes[i].text);
    if (story->notes_dropped > 0)
        fprintf(out, "\n%" PRId64 " more notes are not shown.\n", story->notes_dropped);
}

bool markdown_write(const struct story *story, const struct markdown_picture *pictures, int count,
                    FILE *out)
{
    char verdict[2048];
    story_verdict(story, verdict, sizeof verdict);
    fprintf(out, "# nmtwatch: %s\n\n", story_status_name(story_status(story)));
    put(out, verdict);
    fputs("\n\n", out);
    put_facts(story, out);
    put_alerts(story, out);
    if (count > 0)
        fputs("\n## Over time\n\n", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "![%s](%s)\n", pictures[i].title, pictures[i].file);
    put_families(story, out);
    put_loaders(story, out);
    put_cost(story, out);
    put_notes(story, out);
    return !ferror(out);
}
