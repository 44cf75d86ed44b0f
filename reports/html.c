#include "reports/html.h"

#include "analyzers/classes/family.h"
#include "reports/escape.h"
#include "reports/evidence.h"
#include "reports/html_style.h"
#include "reports/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const STATUS_WORDS[] = {"OK", "Warning", "Critical", "Cannot tell"};
static const char *const STATUS_CLASSES[] = {"ok", "warning", "critical", "unknown"};
static const char *const SEVERITY_CLASSES[] = {"ok", "warning", "critical"};

/* --- small pieces ------------------------------------------------------------------------------
 */

static void put(FILE *out, const char *text)
{
    char escaped[8192]; /* the longest field is 1200 bytes */
    escape(ESCAPE_HTML, text, escaped, sizeof escaped);
    fputs(escaped, out);
}

/* <tag class>text</tag>; class may be NULL. */
static void put_element(FILE *out, const char *tag, const char *class, const char *text)
{
    fprintf(out, class != NULL ? "<%s class=\"%s\">" : "<%s>", tag, class);
    put(out, text);
    fprintf(out, "</%s>", tag);
}

static void put_fact(FILE *out, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    fputs("<div>", out);
    put_element(out, "dt", NULL, name);
    put_element(out, "dd", NULL, value);
    fputs("</div>\n", out);
}

static void put_number(FILE *out, int64_t number)
{
    put_element(out, "td", "n", number < 0 ? "–" : units_count(number).text);
}

static void begin_table(FILE *out, const char *const *heads, size_t count)
{
    fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
    for (size_t i = 0; i < count; i++) {
        bool number = heads[i][0] == '#'; /* a column of numbers */
        put_element(out, "th", number ? "n" : NULL, heads[i] + number);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}
#define BEGIN_TABLE(out, ...)                                                                      \
    begin_table(out, (const char *const[]){__VA_ARGS__},                                           \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void end_table(FILE *out)
{
    fputs("</tbody>\n</table></div>\n", out);
}

/* --- verdict and facts -------------------------------------------------------------------------
 */

static void put_header(const struct story *story, FILE *out)
{
    enum story_status status = story_status(story);
    char headline[1024], advice[1024], began[64] = "";
    story_headline(story, headline, sizeof headline);
    story_advice(story, advice, sizeof advice);
    time_t seconds = (time_t)(story->wall_start_ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) != NULL)
        strftime(began, sizeof began, "%Y-%m-%d %H:%M:%S UTC", &utc);

    fprintf(out, "<header class=\"%s\">\n", STATUS_CLASSES[status]);
    put_element(out, "p", "badge", STATUS_WORDS[status]);
    put_element(out, "h1", NULL, headline);
    if (advice[0] != '\0')
        put_element(out, "p", "advice", advice);
    fputs("\n<p class=\"who\">", out);
    put(out, story->identity.main[0] != '\0' ? story->identity.main : "JVM");
    fprintf(out, ", pid %" PRId64 ", watched for %s from %s</p>\n</header>\n", story->identity.pid,
            units_duration(story_span_ms(story)).text, began);
}

/* First and last of a field: "2 400 → 13 160". */
static void put_change(const struct story *story, FILE *out, const char *name,
                       enum sample_field field)
{
    int64_t first, last;
    char text[128];
    if (!story_first_last(story, field, &first, &last))
        return;
    const char *key = sample_field_key(field);
    snprintf(text, sizeof text, "%s → %s", units_figure(key, first).text,
             units_figure(key, last).text);
    put_fact(out, name, text);
}

static void put_facts(const struct story *story, FILE *out)
{
    const struct target_identity *identity = &story->identity;
    char text[256];
    fputs("<section><dl class=\"facts\">\n", out);
    put_fact(out, "JDK", identity->jdk);
    if (identity->nspid != identity->pid && identity->nspid > 0) {
        snprintf(text, sizeof text, "%" PRId64, identity->nspid);
        put_fact(out, "Pid in its container", text);
    }
    put_fact(out, "Up when the watch began", units_duration(identity->uptime_ms).text);
    put_fact(out, "Native Memory Tracking", identity->nmt_level);
    put_change(story, out, "Classes loaded", SAMPLE_CLASSES_LOADED);
    put_change(story, out, "Classes unloaded", SAMPLE_CLASSES_UNLOADED);
    put_change(story, out, "RSS", SAMPLE_RSS_BYTES);
    put_change(story, out, "NMT committed", SAMPLE_NMT_COMMITTED_BYTES);
    put_change(story, out, "The agent, outside of NMT", SAMPLE_AGENT_RESIDENT_BYTES);
    put_change(story, out, "Its jmethodIDs, inside of NMT", SAMPLE_AGENT_JMETHOD_ID_BYTES);
    bool baseline = story->view.baseline_ms >= 0;
    if (baseline && story->view.have_internal)
        put_fact(out, "Internal since the baseline",
                 units_growth(story->view.internal_growth_bytes).text);
    if (baseline && story->view.have_class_metaspace)
        put_fact(out, "Class + Metaspace since the baseline",
                 units_growth(story->view.class_metaspace_growth_bytes).text);
    if (baseline)
        snprintf(text, sizeof text, "%s into the watch: %s",
                 units_duration(story->view.baseline_ms).text, story->view.warmup_reason);
    else
        snprintf(text, sizeof text, "none: warm-up had not ended");
    put_fact(out, "Baseline", text);
    fputs("</dl></section>\n", out);
    if (story->damage[0] != '\0') {
        fputs(
            "<p class=\"damage\"><strong>The recording is damaged</strong>; this report tells what "
            "stands before the damage. ",
            out);
        put(out, story->damage);
        fputs("</p>\n", out);
    }
}

/* --- alerts ------------------------------------------------------------------------------------
 */

static double percent_of_span(const struct story *story, int64_t ms)
{
    int64_t first = story->points[0].ms;
    double percent = 100.0 * (double)(ms - first) / (double)story_span_ms(story);
    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

/* One bar for each episode, from its beginning to its clearing or the end; the tick is the moment
 * the alert was raised. */
static void put_timeline(const struct story *story, FILE *out)
{
    if (story_span_ms(story) == 0)
        return;
    fputs("<div class=\"timeline\" aria-hidden=\"true\">\n", out);
    int number = 0;
    for (int i = 0; i < story->alert_count; i++) {
        const struct alert *alert = &story->alerts[i];
        if (alert->state != ALERT_RAISED)
            continue;
        number++;
        int64_t cleared_ms = story_cleared_ms(story, i);
        double from = percent_of_span(story, alert->started_ms);
        double raised = percent_of_span(story, alert->ms);
        double to = cleared_ms < 0 ? 100 : percent_of_span(story, cleared_ms);
        fprintf(out,
                "<div class=\"lane\"><span class=\"num\">%d</span><span class=\"track\">"
                "<span class=\"bar %s\" style=\"left:%.2f%%;width:%.2f%%\"></span>"
                "<span class=\"tick\" style=\"left:%.2f%%\"></span></span></div>\n",
                number, SEVERITY_CLASSES[alert->finding.severity], from, to > from ? to - from : 0,
                raised);
    }
    fprintf(out,
            "<div class=\"lane scale\"><span class=\"num\"></span><span>%s</span><span>%s</span>"
            "<span>%s</span></div>\n</div>\n",
            units_clock(story->points[0].ms).text,
            units_clock(story->points[0].ms + story_span_ms(story) / 2).text,
            units_clock(story->points[0].ms + story_span_ms(story)).text);
}

static void put_alert(const struct story *story, int index, int number, FILE *out)
{
    const struct alert *alert = &story->alerts[index];
    const struct finding *finding = &alert->finding;
    int64_t cleared_ms = story_cleared_ms(story, index);
    fprintf(out, "<article class=\"alert %s\" id=\"alert-%d\">\n<h3><span class=\"num\">%d</span> ",
            SEVERITY_CLASSES[finding->severity], number, number);
    put(out, finding->title);
    fprintf(out, "</h3>\n<p class=\"when\">%s <code>%s</code>, raised at %s",
            severity_name(finding->severity), finding_row(finding->kind)->id,
            units_clock(alert->ms).text);
    if (cleared_ms >= 0)
        fprintf(out, ", cleared at %s", units_clock(cleared_ms).text);
    fputs("</p>\n", out);
    put_element(out, "p", "advice", finding->advice);
    fputs("\n<dl class=\"evidence\">\n", out);
    for (int e = 0; e < finding->evidence_count; e++) {
        struct evidence_text text = evidence_text(&finding->evidence[e]);
        put_fact(out, text.label, text.value);
    }
    fprintf(out, "<div><dt>runbook</dt><dd>docs/runbooks/%s.md</dd></div>\n</dl>\n</article>\n",
            finding_row(finding->kind)->runbook);
}

static void put_alerts(const struct story *story, FILE *out)
{
    fputs("<section><h2>Alerts</h2>\n", out);
    int number = 0;
    if (story_raised(story) == 0)
        fputs("<p>None was raised.</p>\n", out);
    else
        put_timeline(story, out);
    for (int i = 0; i < story->alert_count; i++)
        if (story->alerts[i].state == ALERT_RAISED)
            put_alert(story, i, ++number, out);
    if (story->alerts_dropped > 0)
        fprintf(out, "<p>%" PRId64 " more raisings and clearings are not shown.</p>\n",
                story->alerts_dropped);
    fputs("</section>\n", out);
}

/* --- pictures ----------------------------------------------------------------------------------
 */

/* Two pictures in one page must not share ids, and the tool tips that gnuplot names after its plots
 * say nothing. */
static void put_svg(const char *svg, int number, const char *title, FILE *out)
{
    static const char *const references[] = {"id='", "id=\"", "href='#", "href=\"#", "url(#"};
    const char *at = strstr(svg, "<svg");
    if (at == NULL)
        return;
    fputs("<svg role=\"img\" aria-label=\"", out);
    put(out, title);
    fputs("\"", out);
    at += strlen("<svg");
    while (*at != '\0') {
        if (strncmp(at, "<title>", 7) == 0) {
            const char *end = strstr(at, "</title>");
            if (end == NULL)
                return;
            at = end + strlen("</title>");
            continue;
        }
        size_t length = 1;
        bool reference = false;
        for (size_t i = 0; i < sizeof references / sizeof references[0] && !reference; i++) {
            reference = strncmp(at, references[i], strlen(references[i])) == 0;
            if (reference)
                length = strlen(references[i]);
        }
        fwrite(at, 1, length, out);
        if (reference)
            fprintf(out, "p%d-", number);
        at += length;
    }
}

static void put_pictures(const struct html_picture *pictures, int count, const char *no_pictures,
                         FILE *out)
{
    if (count == 0 && no_pictures == NULL)
        return;
    fputs("<section><h2>Over time</h2>\n", out);
    if (count == 0)
        put_element(out, "p", NULL, no_pictures);
    for (int i = 0; i < count; i++) {
        fputs("<figure>\n<div class=\"scroll\">", out);
        put_svg(pictures[i].svg, i + 1, pictures[i].title, out);
        fputs("</div>\n", out);
        put_element(out, "figcaption", NULL, pictures[i].caption);
        fputs("\n</figure>\n", out);
    }
    fputs("</section>\n", out);
}

/* --- families and loaders ----------------------------------------------------------------------
 */

static void put_family(const struct story_family *seen, FILE *out)
{
    const struct family_row *row = &seen->row;
    const struct family *family = family_by_id(row->family);
    bool flow = seen->method == CENSUS_TAP;
    double per_s;
    fputs("<tr class=\"head\"><td><strong>", out);
    put(out, row->family);
    fputs("</strong></td>", out);
    put_element(out, "td", "n", story_family_rate(seen, &per_s) ? units_rate(per_s).text : "–");
    put_number(out, flow ? row->loads : -1);
    put_number(out, flow ? row->unloads : -1);
    put_number(out, seen->alive);
    put_number(out, row->max_same_name > 0 ? row->max_same_name : -1);
    put_element(out, "td", NULL,
                seen->method < CENSUS_METHOD_COUNT ? census_method_name(seen->method) : "–");
    fputs("</tr>\n<tr class=\"detail\"><td colspan=\"7\"><dl>\n", out);
    put_fact(out, "Producer",
             family != NULL ? family->producer : "unknown, found by the shape of its names");
    put_fact(out, "Example", row->example);
    put_fact(out, "Source", row->source);
    put_fact(out, "Invokes", row->invokes);
    if (family != NULL) {
        put_fact(out, "Grows because", family->cause);
        put_fact(out, "Change", family->fix);
    } else {
        put_fact(out, "Change",
                 "Find the code that defines these classes and cache what it makes.");
    }
    fputs("</dl></td></tr>\n", out);
}

static void put_families(const struct story *story, FILE *out)
{
    fputs("<section><h2>Families of generated classes</h2>\n", out);
    if (story->family_count == 0) {
        fputs("<p>No census of class names was taken: nothing was suspicious, or it was over the "
              "pause budget.</p>\n</section>\n",
              out);
        return;
    }
    BEGIN_TABLE(out, "Family", "#Rate", "#Loaded", "#Unloaded", "#Alive", "#Most of one name",
                "Seen by");
    for (int i = 0; i < story->family_count; i++)
        put_family(&story->families[i], out);
    end_table(out);
    if (story->families_dropped > 0)
        fprintf(out, "<p>%" PRId64 " rows of smaller families are not shown.</p>\n",
                story->families_dropped);
    fputs("</section>\n", out);
}

static void put_loaders(const struct story *story, FILE *out)
{
    if (story->loader_count == 0)
        return;
    fputs("<section><h2>Class loaders</h2>\n", out);
    BEGIN_TABLE(out, "Type", "#At first", "#At last", "#Classes", "#Chunks");
    for (int i = 0; i < story->loader_count; i++) {
        const struct loader_row *row = &story->loaders[i];
        fputs("<tr>", out);
        put_element(out, "td", "name", row->type);
        put_number(out, story->loaders_at_first[i]);
        put_number(out, row->loaders);
        put_number(out, row->classes);
        put_element(out, "td", "n", units_bytes(row->chunk_bytes).text);
        fputs("</tr>\n", out);
    }
    end_table(out);
    fputs("</section>\n", out);
}

/* --- cost, thresholds, notes -------------------------------------------------------------------
 */

static void put_cost(const struct story *story, FILE *out)
{
    fputs("<section><h2>What the watching cost</h2>\n", out);
    if (story->watch_cost[0] != '\0')
        put_element(out, "p", NULL, story->watch_cost);
    if (story->cost_count == 0) {
        fputs("<p>No command that stops the application was used.</p>\n</section>\n", out);
        return;
    }
    BEGIN_TABLE(out, "Command", "#Runs", "#Pauses, at most", "#Longest", "#Skipped",
                "Last skipped because");
    for (int i = 0; i < story->cost_count; i++) {
        const struct story_cost *cost = &story->costs[i];
        fputs("<tr>", out);
        put_element(out, "td", "name", cost->command);
        put_number(out, cost->runs);
        put_element(out, "td", "n", units_microseconds(cost->measured_us).text);
        put_element(out, "td", "n", units_microseconds(cost->worst_us).text);
        put_number(out, cost->skipped);
        put_element(out, "td", NULL, cost->last_skip_reason);
        fputs("</tr>\n", out);
    }
    end_table(out);
    fputs("</section>\n", out);
}

static void put_thresholds(const struct story *story, FILE *out)
{
    fputs("<section><details><summary>Thresholds in force</summary>\n", out);
    BEGIN_TABLE(out, "Threshold", "#Value", "Meaning");
    for (int t = 0; t < THRESHOLD_COUNT; t++) {
        const struct threshold_row *row = threshold_row((enum threshold)t);
        int64_t value = story->thresholds.value[t];
        char key[64];
        fputs("<tr>", out);
        put_element(out, "td", "name", row->key);
        snprintf(key, sizeof key, "_%s", row->unit);
        put_element(out, "td", "n", units_figure(key, value).text);
        fputs("<td>", out);
        put(out, row->meaning);
        fputs(value != row->dflt ? " (changed from the default)</td></tr>\n" : "</td></tr>\n", out);
    }
    end_table(out);
    fputs("</details></section>\n", out);
}

static void put_notes(const struct story *story, FILE *out)
{
    if (story->note_count == 0)
        return;
    fputs("<section><h2>Notes</h2>\n<ul class=\"notes\">\n", out);
    for (int i = 0; i < story->note_count; i++) {
        fprintf(out, "<li><time>%s</time> ", units_clock(story->notes[i].ms).text);
        put(out, story->notes[i].text);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
    if (story->notes_dropped > 0)
        fprintf(out, "<p>%" PRId64 " more notes are not shown.</p>\n", story->notes_dropped);
    fputs("</section>\n", out);
}

bool html_write(const struct story *story, const struct html_picture *pictures, int count,
                const char *no_pictures, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'\">\n<title>",
          out);
    put(out, story_status_name(story_status(story)));
    fputs(" – ", out);
    put(out, story->identity.main[0] != '\0' ? story->identity.main : "JVM");
    fprintf(out,
            " (pid %" PRId64 ") – nmtwatch</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
            story->identity.pid, HTML_STYLE);
    put_header(story, out);
    put_facts(story, out);
    put_alerts(story, out);
    put_pictures(pictures, count, no_pictures, out);
    put_families(story, out);
    put_loaders(story, out);
    put_cost(story, out);
    put_thresholds(story, out);
    put_notes(story, out);
    fputs("<footer>nmtwatch " NMTWATCH_VERSION ". Sizes are counted in KB of 1024 bytes. Times are "
          "counted from the beginning of the watch.</footer>\n</main>\n</body>\n</html>\n",
          out);
    return !ferror(out);
}
