/*
 * The page: what is wrong first, then every target in a row, then what is known of each. No script,
 * nothing from elsewhere; it loads itself again.
 */
#include "nmtwatch/serve/views.h"

#include "nmtwatch/serve/page_style.h"
#include "reports/escape.h"
#include "reports/html_style.h"
#include "reports/units.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define REFRESH_S    15
#define SPARK_WIDTH  110.0
#define SPARK_HEIGHT 24.0

struct page {
    FILE *out;
    const struct snapshot *snapshot;
};

static void text(const struct page *page, const char *value)
{
    char escaped[4096];
    escape(ESCAPE_HTML, value, escaped, sizeof escaped);
    fputs(escaped, page->out);
}

static void put(const struct page *page, const char *markup)
{
    fputs(markup, page->out);
}

/* --- words ------------------------------------------------------------------------------------ */

static const char *target_class(const struct target_view *target)
{
    if (!target->up)
        return "unknown";
    if (target->active_alerts == 0)
        return "ok";
    return target->worst_active == SEVERITY_CRITICAL ? "critical" : "warning";
}

static const char *verdict_word(const struct verdict_view *verdict)
{
    if (!verdict->known || verdict->answer == VERDICT_UNDECIDED)
        return "";
    return verdict->answer == VERDICT_GROWING ? "growing" : "not growing";
}

/* --- sparklines ------------------------------------------------------------------------------- */

static void range_of(const struct sparkline *spark, enum spark_series series, float *low,
                     float *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int i = 0; i < spark->count; i++) {
        float value = spark->value[series][i];
        if (value == SPARK_MISSING)
            continue;
        *low = value < *low ? value : *low;
        *high = value > *high ? value : *high;
    }
}

/* A series that hardly moves is shown flat: at least a twentieth of its height is the full scale.
 */
static void spark(const struct page *page, const struct sparkline *line, enum spark_series series,
                  bool grows)
{
    float low, high;
    bool open = false;
    range_of(line, series, &low, &high);
    if (line->count < 2 || high < low)
        return;
    double scale = fmax((double)(high - low), fmax((double)high * 0.05, 1));
    double middle = ((double)high + (double)low) / 2;
    fprintf(page->out,
            "<svg class=\"spark%s\" viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\" "
            "aria-hidden=\"true\">",
            grows ? " grows" : "", SPARK_WIDTH, SPARK_HEIGHT);
    for (int i = 0; i < line->count; i++) {
        float value = line->value[series][i];
        if (value == SPARK_MISSING) {
            put(page, open ? "\"/>" : "");
            open = false;
            continue;
        }
        put(page, open ? " " : "<polyline points=\"");
        open = true;
        fprintf(page->out, "%.1f,%.1f", SPARK_WIDTH * i / (line->count - 1),
                SPARK_HEIGHT * (0.5 - 0.9 * ((double)value - middle) / scale));
    }
    put(page, open ? "\"/></svg>" : "</svg>");
}

/* --- the table -------------------------------------------------------------------------------- */

static void bytes_cell(const struct page *page, const struct target_view *target, bool known,
                       int64_t bytes, enum spark_series series, const struct verdict_view *verdict)
{
    bool grows = verdict != NULL && verdict->known && verdict->answer == VERDICT_GROWING;
    put(page, "<td class=\"fig\">");
    if (known) {
        put(page, units_bytes(bytes).text);
        if (verdict != NULL && target->warm && verdict->growth_bytes != 0)
            fprintf(page->out, " <span class=\"none\">%s</span>",
                    units_growth(verdict->growth_bytes).text);
        spark(page, &target->spark, series, grows);
        if (verdict != NULL && verdict_word(verdict)[0] != '\0')
            fprintf(page->out, "<small%s>%s</small>", grows ? " class=\"grows-word\"" : "",
                    verdict_word(verdict));
    } else {
        put(page, "<span class=\"none\">not known</span>");
    }
    put(page, "</td>");
}

static void target_row(const struct page *page, const struct target_view *target, int number)
{
    int64_t rss = 0, loaded = 0, unloaded = 0, committed = 0;
    bool have_rss = sample_get(&target->picture, SAMPLE_RSS_BYTES, &rss);
    bool have_nmt = sample_get(&target->picture, SAMPLE_NMT_COMMITTED_BYTES, &committed);
    bool have_classes = sample_get(&target->picture, SAMPLE_CLASSES_LOADED, &loaded);
    sample_get(&target->picture, SAMPLE_CLASSES_UNLOADED, &unloaded);
    fprintf(page->out,
            "<tr class=\"%s\"><td class=\"who\"><span class=\"dot\"></span>"
            "<a href=\"#t%d\">",
            target_class(target), number);
    text(page, target->label);
    put(page, "</a><small>");
    text(page, target->jdk[0] != '\0' ? target->jdk : "JDK not known");
    if (!target->up) {
        put(page, " · ");
        text(page, target->counts.failing != FAILURE_NONE ? failure_reason(target->counts.failing)
                                                          : "not looked at yet");
    }
    put(page, "</small></td>");
    bytes_cell(page, target, have_rss, rss, SPARK_RSS, NULL);
    put(page, "<td class=\"fig\">");
    if (have_nmt)
        put(page, units_bytes(committed).text);
    else
        fprintf(page->out, "<span class=\"none\">%s</span>",
                strcmp(target->nmt_level, "off") == 0 ? "NMT is off" : "not known");
    put(page, "</td>");
    bytes_cell(page, target, target->internal.have_level, target->internal.level_bytes,
               SPARK_INTERNAL, &target->internal);
    bytes_cell(page, target, target->class_metaspace.have_level,
               target->class_metaspace.level_bytes, SPARK_CLASS_METASPACE,
               &target->class_metaspace);
    put(page, "<td class=\"fig\">");
    if (have_classes) {
        put(page, units_count(loaded - unloaded).text);
        spark(page, &target->spark, SPARK_CLASSES, false);
        if (target->have_rates)
            fprintf(page->out, "<small>+%s −%s</small>", units_rate(target->load_per_s).text,
                    units_rate(target->unload_per_s).text);
    }
    put(page, "</td></tr>\n");
}

static void table(const struct page *page)
{
    const struct snapshot *snapshot = page->snapshot;
    put(page, "<h2>Targets</h2>\n");
    if (snapshot->target_count == 0) {
        put(page, "<p class=\"none\">No JVM is watched");
        if (snapshot->own.refused > 0)
            fprintf(page->out, "; %d are left out by the rules", snapshot->own.refused);
        if (snapshot->own.unreadable > 0)
            fprintf(page->out,
                    "; %d processes belong to other users, who have to run nmtwatch themselves "
                    "(or root)",
                    snapshot->own.unreadable);
        put(page, ".</p>\n");
        return;
    }
    put(page, "<div class=\"scroll\"><table><thead><tr><th>Target</th><th>Resident</th>"
              "<th>NMT committed</th><th>Internal</th><th>Class + Metaspace</th><th>Classes</th>"
              "</tr></thead><tbody>\n");
    for (int i = 0; i < snapshot->target_count; i++)
        target_row(page, &snapshot->targets[i], i);
    put(page, "</tbody></table></div>\n");
}

/* --- findings --------------------------------------------------------------------------------- */

static void evidence_list(const struct page *page, const struct finding *finding)
{
    put(page, "<dl class=\"evidence\">");
    for (int i = 0; i < finding->evidence_count; i++) {
        const struct evidence *row = &finding->evidence[i];
        put(page, "<div><dt>");
        text(page, row->key);
        put(page, "</dt><dd>");
        if (row->type == EVIDENCE_INT)
            text(page, units_figure(row->key, row->number).text);
        else if (row->type == EVIDENCE_REAL)
            text(page, units_real_figure(row->key, row->real).text);
        else
            text(page, row->text);
        put(page, "</dd></div>");
    }
    put(page, "</dl>");
}

static void runbook(const struct page *page, const char *name)
{
    const char *base = page->snapshot->own.runbooks;
    put(page, "<p>Runbook: ");
    if (strncmp(base, "http://", 7) == 0 || strncmp(base, "https://", 8) == 0) {
        put(page, "<a href=\"");
        text(page, base);
        fprintf(page->out, "/%s.md\">%s</a></p>", name, name);
    } else {
        fprintf(page->out, "<code>docs/runbooks/%s.md</code></p>", name);
    }
}

static void finding(const struct page *page, const struct finding_view *view)
{
    const struct snapshot *snapshot = page->snapshot;
    const struct finding *found = &view->finding;
    fprintf(page->out, "<section class=\"alert %s\"><p class=\"badge\">%s</p><h3>",
            found->severity == SEVERITY_CRITICAL ? "critical" : "warning",
            severity_name(found->severity));
    fprintf(page->out, "<a href=\"#t%d\">", view->target);
    text(page, snapshot->targets[view->target].label);
    put(page, "</a>: ");
    text(page, found->title);
    put(page, "</h3><p class=\"when\">for ");
    put(page, units_duration(snapshot->unix_ms - view->started_unix_ms).text);
    put(page, "</p><p>");
    text(page, found->advice);
    put(page, "</p>");
    runbook(page, finding_row(found->kind)->runbook);
    evidence_list(page, found);
    put(page, "</section>\n");
}

static void findings(const struct page *page)
{
    const struct snapshot *snapshot = page->snapshot;
    if (snapshot->finding_count == 0)
        return;
    put(page, "<h2>Findings</h2>\n");
    for (int severity = SEVERITY_CRITICAL; severity >= SEVERITY_INFO; severity--) {
        for (int i = 0; i < snapshot->finding_count; i++) {
            if ((int)snapshot->findings[i].finding.severity == severity)
                finding(page, &snapshot->findings[i]);
        }
    }
}

/* --- each target ------------------------------------------------------------------------------ */

static void fact(const struct page *page, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    fprintf(page->out, "<dt>%s</dt><dd>", name);
    text(page, value);
    put(page, "</dd>");
}

static void details(const struct page *page, const struct target_view *target, int number)
{
    const struct snapshot *snapshot = page->snapshot;
    char pid[32];
    snprintf(pid, sizeof pid, "%lld", (long long)target->pid);
    fprintf(page->out, "<details id=\"t%d\" class=\"%s\"%s><summary><span class=\"dot\"></span>",
            number, target_class(target), target->active_alerts > 0 ? " open" : "");
    text(page, target->label);
    put(page, "</summary><dl>");
    fact(page, "main", target->main);
    fact(page, "pid", pid);
    fact(page, "user", target->user);
    fact(page, "control group", target->cgroup);
    fact(page, "NMT", target->nmt_level);
    fact(page, "running for", units_duration(snapshot->unix_ms - target->start_unix_ms).text);
    fact(page, "watched for", units_duration(snapshot->unix_ms - target->since_unix_ms).text);
    fact(page, "start-up", target->warm ? "over: growth counts from its baseline" : "not over yet");
    fact(page, "Internal", target->internal.known ? target->internal.sentence : "");
    fact(page, "Class + Metaspace",
         target->class_metaspace.known ? target->class_metaspace.sentence : "");
    fact(page, "stopped for us", units_microseconds(target->counts.pause_us).text);
    fact(page, "recording", target->recording);
    fact(page, "note", target->note);
    put(page, "</dl></details>\n");
}

/* --- the whole -------------------------------------------------------------------------------- */

static void head(const struct page *page, const char *state, int critical, int warning, int down)
{
    const struct snapshot *snapshot = page->snapshot;
    time_t second = (time_t)(snapshot->unix_ms / 1000);
    struct tm utc;
    char when[40];
    gmtime_r(&second, &utc);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
    fprintf(page->out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<meta http-equiv=\"refresh\" content=\"%d\">\n"
            "<title>nmtwatch: %d JVMs</title>\n",
            REFRESH_S, snapshot->target_count);
    put(page, "<style>\n" HTML_STYLE PAGE_STYLE "</style></head>\n<body><main>\n");
    fprintf(page->out, "<header class=\"%s\"><p class=\"badge\">%s</p><h1>", state, state);
    if (critical + warning == 0)
        fprintf(page->out, "%d JVM%s watched; nothing is wrong with the native memory",
                snapshot->target_count, snapshot->target_count == 1 ? " is" : "s are");
    else
        fprintf(page->out, "%d critical and %d lesser finding%s in %d JVM%s", critical, warning,
                critical + warning == 1 ? "" : "s", snapshot->target_count,
                snapshot->target_count == 1 ? "" : "s");
    if (down > 0)
        fprintf(page->out, "; %d %s not answer", down, down == 1 ? "does" : "do");
    fprintf(page->out,
            "</h1><p class=\"who\">%s</p><nav><a href=\"/metrics\">metrics</a>"
            "<a href=\"/api/v1/targets\">targets (JSON)</a>"
            "<a href=\"/api/v1/findings\">findings (JSON)</a></nav></header>\n",
            when);
}

static void foot(const struct page *page)
{
    const struct own_view *own = &page->snapshot->own;
    put(page, "<footer>nmtwatch " NMTWATCH_VERSION ", ");
    put(page, units_bytes(own->rss_bytes).text);
    put(page, " resident, ");
    put(page, units_duration(own->cpu_us / 1000).text);
    put(page, " of CPU in ");
    put(page, units_duration(page->snapshot->unix_ms - own->started_unix_ms).text);
    fprintf(page->out, "; %d processes, %d JVMs left out, %d unreadable. ", own->processes,
            own->refused, own->unreadable);
    put(page, "Scrapes and this page never touch a JVM.</footer>\n</main></body></html>\n");
}

bool view_page(const struct snapshot *snapshot, FILE *out)
{
    const struct page page = {out, snapshot};
    int critical = 0, warning = 0, down = 0;
    for (int i = 0; i < snapshot->finding_count; i++) {
        bool is_critical = snapshot->findings[i].finding.severity == SEVERITY_CRITICAL;
        critical += is_critical;
        warning += !is_critical;
    }
    for (int i = 0; i < snapshot->target_count; i++)
        down += !snapshot->targets[i].up;
    head(&page,
         critical > 0  ? "critical"
         : warning > 0 ? "warning"
                       : "ok",
         critical, warning, down);
    findings(&page);
    table(&page);
    if (snapshot->target_count > 0)
        put(&page, "<h2>What is known of each</h2>\n");
    for (int i = 0; i < snapshot->target_count; i++)
        details(&page, &snapshot->targets[i], i);
    foot(&page);
    return ferror(out) == 0;
}
