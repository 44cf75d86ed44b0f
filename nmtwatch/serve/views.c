/*
 * The page: what is wrong first, then every target in a row, then what is known of each; as blocks
 * (reports/page/page.h). No script, nothing from elsewhere; it reloads itself on request.
 */
#include "nmtwatch/serve/views.h"

#include "reports/page/page.h"
#include "reports/text/units.h"
#include "reports/json/event_json.h"

#include <math.h>
#include <stdlib.h>

#define SPARK_WIDTH  110.0
#define SPARK_HEIGHT 24.0

/* Columns of the table of targets. */
enum column { WHO, RSS, NMT, INTERNAL, CLASS_METASPACE, CLASSES };

static enum page_tone tone_of(const struct target_view *target)
{
    if (!target->up)
        return PAGE_UNKNOWN;
    return target->active_alerts == 0 ? PAGE_OK : (enum page_tone)target->worst_active;
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

/* A series that hardly moves is shown flat: at least a twentieth of its height is the full scale */
static void draw(const struct sparkline *line, enum spark_series series, bool grows, float low,
                 float high, FILE *out)
{
    bool open = false;
    double scale = fmax((double)(high - low), fmax((double)high * 0.05, 1));
    double middle = ((double)high + (double)low) / 2;
    fprintf(out,
            "<svg class=\"spark%s\" viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\" "
            "aria-hidden=\"true\">",
            grows ? " grows" : "", SPARK_WIDTH, SPARK_HEIGHT);
    for (int i = 0; i < line->count; i++) {
        float value = line->value[series][i];
        if (value == SPARK_MISSING) {
            fputs(open ? "\"/>" : "", out);
            open = false;
            continue;
        }
        fputs(open ? " " : "<polyline points=\"", out);
        open = true;
        fprintf(out, "%.1f,%.1f", SPARK_WIDTH * i / (line->count - 1),
                SPARK_HEIGHT * (0.5 - 0.9 * ((double)value - middle) / scale));
    }
    fputs(open ? "\"/></svg>" : "</svg>", out);
}

static void add_spark(struct page *page, enum column column, const struct sparkline *line,
                      enum spark_series series, bool grows)
{
    char *svg = NULL;
    size_t size = 0;
    float low, high;
    range_of(line, series, &low, &high);
    FILE *out = line->count >= 2 && high >= low ? open_memstream(&svg, &size) : NULL;
    if (out == NULL)
        return;
    draw(line, series, grows, low, high, out);
    if (fclose(out) == 0)
        page_cell_chart(page, (int)column, svg);
    free(svg);
}

/* --- the table -------------------------------------------------------------------------------- */

/* "12.3 MB +1.2 MB" */
static struct units_text level_text(const struct target_view *target,
                                    const struct verdict_view *verdict)
{
    struct units_text text = {"not known"};
    if (!verdict->have_level)
        return text;
    bool growth = target->warm && verdict->growth_bytes != 0;
    snprintf(text.text, sizeof text.text, "%.20s%s%.20s", units_bytes(verdict->level_bytes).text,
             growth ? " " : "", growth ? units_growth(verdict->growth_bytes).text : "");
    return text;
}

static void add_verdict(struct page *page, enum column column, const struct target_view *target,
                        const struct verdict_view *verdict, enum spark_series series)
{
    bool decided = verdict->known && verdict->answer != VERDICT_UNDECIDED;
    bool grows = decided && verdict->answer == VERDICT_GROWING;
    if (!verdict->have_level)
        return;
    add_spark(page, column, &target->spark, series, grows);
    if (decided)
        page_cell_note(page, (int)column, grows ? PAGE_CRITICAL : PAGE_PLAIN,
                       grows ? "growing" : "not growing");
}

static void add_target(struct page *page, const struct target_view *target, int number)
{
    int64_t rss = 0, loaded = 0, unloaded = 0, committed = 0;
    bool have_rss = sample_get(&target->latest, SAMPLE_RSS_BYTES, &rss);
    bool have_nmt = sample_get(&target->latest, SAMPLE_NMT_COMMITTED_BYTES, &committed);
    bool have_classes = sample_get(&target->latest, SAMPLE_CLASSES_LOADED, &loaded);
    sample_get(&target->latest, SAMPLE_CLASSES_UNLOADED, &unloaded);
    page_row(page, target->label, have_rss ? units_bytes(rss).text : "not known",
             have_nmt                                ? units_bytes(committed).text
             : strcmp(target->nmt_level, "off") == 0 ? "NMT is off"
                                                     : "not known",
             level_text(target, &target->internal).text,
             level_text(target, &target->class_metaspace).text,
             have_classes ? units_count(loaded - unloaded).text : "not known");
    page_row_tone(page, tone_of(target));

    char text[160];
    snprintf(text, sizeof text, "#t%d", number);
    page_cell_link(page, WHO, text);
    snprintf(text, sizeof text, "%s%s%s", target->jdk[0] != '\0' ? target->jdk : "JDK not known",
             target->up ? "" : " · ",
             target->up                               ? ""
             : target->counts.failing != FAILURE_NONE ? failure_reason(target->counts.failing)
                                                      : "not looked at yet");
    page_cell_note(page, WHO, PAGE_PLAIN, text);
    if (have_rss)
        add_spark(page, RSS, &target->spark, SPARK_RSS, false);
    add_verdict(page, INTERNAL, target, &target->internal, SPARK_INTERNAL);
    add_verdict(page, CLASS_METASPACE, target, &target->class_metaspace, SPARK_CLASS_METASPACE);
    if (!have_classes)
        return;
    add_spark(page, CLASSES, &target->spark, SPARK_CLASSES, false);
    if (!target->have_rates)
        return;
    snprintf(text, sizeof text, "+%s −%s", units_rate(target->load_per_s).text,
             units_rate(target->unload_per_s).text);
    page_cell_note(page, CLASSES, PAGE_PLAIN, text);
}

static void add_targets(struct page *page, const struct snapshot *snapshot)
{
    page_heading(page, "Targets");
    if (snapshot->target_count > 0) {
        page_table(page, "Target", "#Resident", "#NMT committed", "#Internal", "#Class + Metaspace",
                   "#Classes");
        for (int i = 0; i < snapshot->target_count; i++)
            add_target(page, &snapshot->targets[i], i);
        return;
    }
    page_text(page, "No JVM is watched.");
    if (snapshot->own.refused > 0)
        page_text(page, "%d are left out by the rules.", snapshot->own.refused);
    if (snapshot->own.unreadable > 0)
        page_text(page,
                  "%d processes belong to other users, who have to run nmtwatch themselves (or "
                  "root).",
                  snapshot->own.unreadable);
}

/* --- findings --------------------------------------------------------------------------------- */

static void add_findings(struct page *page, const struct snapshot *snapshot)
{
    if (snapshot->finding_count == 0)
        return;
    page_heading(page, "Findings");
    for (int severity = SEVERITY_CRITICAL; severity >= SEVERITY_INFO; severity--) {
        for (int i = 0; i < snapshot->finding_count; i++) {
            const struct finding_view *view = &snapshot->findings[i];
            char link[32];
            if ((int)view->finding.severity != severity)
                continue;
            snprintf(link, sizeof link, "#t%d", view->target);
            page_finding(page, &view->finding);
            page_finding_about(page, snapshot->targets[view->target].label, link);
            page_finding_when(page, "for %s",
                              units_duration(snapshot->unix_ms - view->started_unix_ms).text);
        }
    }
}

/* --- observations ------------------------------------------------------------------------------ */

static void add_observations(struct page *page, const struct snapshot *snapshot)
{
    if (snapshot->observation_count == 0)
        return;
    page_heading(page, "Observed from outside");
    page_table(page, "Target", "What", "Seen", "Result");
    for (int i = 0; i < snapshot->observation_count; i++) {
        const struct observation_view *view = &snapshot->observations[i];
        char text[180];
        page_row(page, snapshot->targets[view->target].label, view->what, view->sentence,
                 view->file);
        snprintf(text, sizeof text, "#t%d", view->target);
        page_cell_link(page, 0, text);
        snprintf(text, sizeof text, "%s, %s ago", view->section,
                 units_duration(snapshot->unix_ms - view->unix_ms).text);
        page_cell_note(page, 1, PAGE_PLAIN, text);
        snprintf(text, sizeof text, OBSERVATIONS_PATH "%s", view->file);
        page_cell_link(page, 3, text);
    }
}

/* --- each target ------------------------------------------------------------------------------ */

static void add_details(struct page *page, const struct snapshot *snapshot, int number)
{
    const struct target_view *target = &snapshot->targets[number];
    char pid[32];
    snprintf(pid, sizeof pid, "%lld", (long long)target->pid);
    page_details(page, target->label, target->active_alerts > 0);
    page_anchor(page, "t%d", number);
    page_tone(page, tone_of(target));
    page_facts(page);
    page_fact(page, "main", target->main);
    page_fact(page, "pid", pid);
    page_fact(page, "user", target->user);
    page_fact(page, "control group", target->cgroup);
    page_fact(page, "NMT", target->nmt_level);
    page_fact(page, "running for", units_duration(snapshot->unix_ms - target->start_unix_ms).text);
    page_fact(page, "watched for", units_duration(snapshot->unix_ms - target->since_unix_ms).text);
    page_fact(page, "start-up",
              target->warm ? "over: growth counts from its baseline" : "not over yet");
    page_fact(page, "Internal", target->internal.known ? target->internal.sentence : "");
    page_fact(page, "Class + Metaspace",
              target->class_metaspace.known ? target->class_metaspace.sentence : "");
    page_fact(page, "stopped for us", units_microseconds(target->counts.pause_us).text);
    page_fact(page, "recording", target->recording);
    page_fact(page, "note", target->note);
    page_details_end(page);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void begin(struct page *page, const struct snapshot *snapshot)
{
    int found[SEVERITY_CRITICAL + 1] = {0}, down = 0, count = snapshot->target_count;
    enum severity worst = SEVERITY_INFO;
    char title[256], not_up[64] = "", infos[32] = "";
    for (int i = 0; i < snapshot->finding_count; i++) {
        enum severity severity = snapshot->findings[i].finding.severity;
        found[severity]++;
        if (severity > worst)
            worst = severity;
    }
    for (int i = 0; i < count; i++)
        down += !snapshot->targets[i].up;
    if (down > 0)
        snprintf(not_up, sizeof not_up, "; %d %s not answer", down, down == 1 ? "does" : "do");
    if (found[SEVERITY_INFO] > 0)
        snprintf(infos, sizeof infos, ", %d INFO", found[SEVERITY_INFO]);
    if (snapshot->finding_count == 0)
        snprintf(title, sizeof title, "%d JVM%s watched, no findings%s", count,
                 count == 1 ? " is" : "s are", not_up);
    else
        snprintf(title, sizeof title, "%d critical, %d warning%s%s in %d JVM%s%s",
                 found[SEVERITY_CRITICAL], found[SEVERITY_WARNING],
                 found[SEVERITY_WARNING] == 1 ? "" : "s", infos, count, count == 1 ? "" : "s",
                 not_up);
    static const char *const words[] = {"ok", "warning", "critical"};
    page_begin(page, title, words[worst], worst);
    page_set_name(page, "nmtwatch: %d JVMs", count);
    page_origin(page, "%s", units_utc(snapshot->unix_ms, "%Y-%m-%d %H:%M:%S UTC").text);
    page_runbooks(page, snapshot->own.runbooks);
    page_link(page, "reload every " VIEW_RELOAD_S " s", "/?reload=" VIEW_RELOAD_S);
    page_link(page, "do not reload", "/");
    page_link(page, "metrics", "/metrics");
    page_link(page, "targets (JSON)", "/api/v1/targets");
    page_link(page, "findings (JSON)", "/api/v1/findings");
}

bool view_page(const struct snapshot *snapshot, FILE *out)
{
    const struct own_view *own = &snapshot->own;
    struct page page;
    begin(&page, snapshot);
    add_findings(&page, snapshot);
    add_targets(&page, snapshot);
    add_observations(&page, snapshot);
    if (snapshot->target_count > 0)
        page_heading(&page, "Details");
    for (int i = 0; i < snapshot->target_count; i++)
        add_details(&page, snapshot, i);
    page_footer(&page,
                "nmtwatch " NMTWATCH_VERSION
                ", %s resident, %s of CPU in %s; %d processes, %d JVMs "
                "left out, %d unreadable, %d held by their owners. Scrapes and this page never "
                "touch a JVM.",
                units_bytes(own->rss_bytes).text, units_duration(own->cpu_us / 1000).text,
                units_duration(snapshot->unix_ms - own->started_unix_ms).text, own->processes,
                own->refused, own->unreadable, own->held + own->passed_by);
    bool good = page_html(&page, out);
    page_free(&page);
    return good;
}

/* --- view json ------------------------------------------------------------------------------- */

static void verdict_json(struct json_out *out, const char *key, const struct verdict_view *verdict)
{
    json_out_begin(out, key, '{');
    if (verdict->have_level) {
        json_out_int(out, "level_bytes", verdict->level_bytes);
        json_out_int(out, "growth_bytes", verdict->growth_bytes);
    }
    if (verdict->known) {
        json_out_text(out, "state", verdict_state_name(verdict->state));
        json_out_text(out, "growing",
                      verdict->answer == VERDICT_GROWING       ? "yes"
                      : verdict->answer == VERDICT_NOT_GROWING ? "no"
                                                               : "undecided");
        json_out_text(out, "sentence", verdict->sentence);
    }
    if (verdict->known && verdict->have_slope && isfinite(verdict->slope_bytes_per_h.value)) {
        json_out_int(out, "slope_bytes_per_h", (int64_t)verdict->slope_bytes_per_h.value);
        if (isfinite(verdict->slope_bytes_per_h.low))
            json_out_int(out, "slope_low_bytes_per_h", (int64_t)verdict->slope_bytes_per_h.low);
        if (isfinite(verdict->slope_bytes_per_h.high))
            json_out_int(out, "slope_high_bytes_per_h", (int64_t)verdict->slope_bytes_per_h.high);
    }
    json_out_end(out, '}');
}

static void observations_json(struct json_out *out, const struct snapshot *snapshot, int target)
{
    bool open = false;
    for (int i = 0; i < snapshot->observation_count; i++) {
        const struct observation_view *view = &snapshot->observations[i];
        if (view->target != target)
            continue;
        if (!open)
            json_out_begin(out, "observations", '[');
        open = true;
        json_out_begin(out, NULL, '{');
        json_out_text(out, "what", view->what);
        json_out_text(out, "section", view->section);
        json_out_int(out, "wall_ms", view->unix_ms);
        json_out_text(out, "observed", view->sentence);
        json_out_text(out, "file", view->file);
        json_out_end(out, '}');
    }
    if (open)
        json_out_end(out, ']');
}

static void target_json(struct json_out *out, const struct snapshot *snapshot, int number)
{
    const struct target_view *target = &snapshot->targets[number];
    json_out_begin(out, NULL, '{');
    json_out_text(out, "target", target->label);
    json_out_bool(out, "up", target->up);
    json_out_text(out, "reason",
                  target->counts.failing != FAILURE_NONE ? failure_reason(target->counts.failing)
                                                         : NULL);
    json_out_int(out, "pid", target->pid);
    json_out_text(out, "main", target->main);
    json_out_text(out, "jdk", target->jdk);
    json_out_text(out, "nmt", target->nmt_level);
    json_out_text(out, "user", target->user);
    json_out_text(out, "cgroup", target->cgroup);
    json_out_int(out, "start_ms", target->start_unix_ms);
    json_out_int(out, "watched_since_ms", target->since_unix_ms);
    json_out_bool(out, "warm", target->warm);
    json_out_int(out, "active_alerts", target->active_alerts);
    json_out_text(out, "worst",
                  target->active_alerts > 0 ? severity_name(target->worst_active) : NULL);
    json_out_int(out, "pause_us", target->counts.pause_us);
    json_out_text_if(out, "recording", target->recording);
    json_out_text_if(out, "note", target->note);
    observations_json(out, snapshot, number);
    verdict_json(out, "internal", &target->internal);
    verdict_json(out, "class_metaspace", &target->class_metaspace);
    json_out_begin(out, "values", '{');
    fields_write(out, &tick_record, &target->latest, false);
    json_out_end(out, '}');
    json_out_end(out, '}');
}

static void begin_json(struct json_out *out, const struct snapshot *snapshot, const char *list)
{
    json_out_open(out);
    json_out_int(out, "schema", 1);
    json_out_int(out, "wall_ms", snapshot->unix_ms);
    json_out_begin(out, list, '[');
}

static const char *end(struct json_out *out)
{
    size_t length;
    json_out_end(out, ']');
    json_out_end(out, '}');
    return json_out_line(out, &length);
}

const char *view_targets_json(const struct snapshot *snapshot, struct json_out *out)
{
    begin_json(out, snapshot, "targets");
    for (int i = 0; i < snapshot->target_count; i++)
        target_json(out, snapshot, i);
    return end(out);
}

const char *view_findings_json(const struct snapshot *snapshot, struct json_out *out)
{
    begin_json(out, snapshot, "findings");
    for (int i = 0; i < snapshot->finding_count; i++) {
        const struct finding_view *view = &snapshot->findings[i];
        const struct target_view *target = &snapshot->targets[view->target];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "target", target->label);
        json_out_int(out, "pid", target->pid);
        json_out_int(out, "started_ms", view->started_unix_ms);
        finding_json(out, "finding", &view->finding);
        json_out_end(out, '}');
    }
    return end(out);
}
