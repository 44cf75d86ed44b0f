#include "reports/story/story.h"

#include "analyzers/classes/family.h"
#include "analyzers/native/internal.h"
#include "reports/json/event_json.h"
#include "reports/text/units.h"

#include <inttypes.h>
#include <stdlib.h>

static struct units_text count_or_none(int64_t count)
{
    const struct units_text none = {""};
    return count < 0 ? none : units_count(count);
}

/* --- verdict and facts ---------------------------------------------------------------------- */

static void put_header(const struct story *story, struct page *page)
{
    static const enum page_tone TONES[] = {PAGE_OK, PAGE_WARNING, PAGE_CRITICAL, PAGE_UNKNOWN};
    enum story_status status = story_status(story);
    const char *main = story->identity.main[0] != '\0' ? story->identity.main : "JVM";
    char headline[1024], advice[1024];
    story_headline(story, headline, sizeof headline);
    story_advice(story, advice, sizeof advice);
    page_begin(page, headline, story_status_name(status), SEVERITY_INFO);
    page_set_tone(page, TONES[status]);
    page_set_name(page, "%s – %s (pid %" PRId64 ") – nmtwatch", story_status_name(status), main,
                  story->identity.pid);
    page_lead(page, advice);
    page_origin(page, "%s, pid %" PRId64 ", watched for %s from %s", main, story->identity.pid,
                units_duration(story_span_ms(story)).text,
                units_utc(story->wall_start_ms, "%Y-%m-%d %H:%M:%S UTC").text);
    page_footer(page, "nmtwatch " NMTWATCH_VERSION ". Sizes are counted in KB of 1024 bytes. Times "
                      "are counted from the beginning of the watch.");
}

/* First and last of a field: "2 400 → 13 160". */
static void put_change(const struct story *story, struct page *page, const char *name,
                       enum sample_field field)
{
    int64_t first, last;
    char text[128];
    if (!story_first_last(story, field, &first, &last))
        return;
    const char *key = sample_field_key(field);
    snprintf(text, sizeof text, "%s → %s", units_figure(key, first).text,
             units_figure(key, last).text);
    page_fact(page, name, text);
}

static void put_facts(const struct story *story, struct page *page)
{
    const struct target_identity *identity = &story->identity;
    char text[256];
    page_facts(page);
    page_fact(page, "JDK", identity->jdk);
    if (identity->nspid != identity->pid && identity->nspid > 0) {
        snprintf(text, sizeof text, "%" PRId64, identity->nspid);
        page_fact(page, "Pid in its container", text);
    }
    page_fact(page, "Up when the watch began", units_duration(identity->uptime_ms).text);
    page_fact(page, "Native Memory Tracking", identity->nmt_level);
    put_change(story, page, "Classes loaded", SAMPLE_CLASSES_LOADED);
    put_change(story, page, "Classes unloaded", SAMPLE_CLASSES_UNLOADED);
    put_change(story, page, "Methods", SAMPLE_METHODS);
    put_change(story, page, "RSS", SAMPLE_RSS_BYTES);
    put_change(story, page, "NMT committed", SAMPLE_NMT_COMMITTED_BYTES);
    put_change(story, page, "The agent, outside of NMT", SAMPLE_AGENT_RESIDENT_BYTES);
    put_change(story, page, "Its jmethodIDs, inside of NMT", SAMPLE_AGENT_JMETHOD_ID_BYTES);
    bool baseline = story->view.baseline_ms >= 0;
    if (baseline && story->view.have_internal)
        page_fact(page, "Internal since the baseline",
                  units_growth(story->view.internal_growth_bytes).text);
    if (baseline && story->view.have_class_metaspace)
        page_fact(page, "Class + Metaspace since the baseline",
                  units_growth(story->view.class_metaspace_growth_bytes).text);
    if (baseline)
        snprintf(text, sizeof text, "%s into the watch: %s",
                 units_duration(story->view.baseline_ms).text, story->view.warmup_reason);
    else
        snprintf(text, sizeof text, "none: warm-up had not ended");
    page_fact(page, "Baseline", text);
    if (story->damage[0] != '\0') {
        page_text(page, "The recording is damaged; this report covers what precedes the damage. %s",
                  story->damage);
        page_tone(page, PAGE_WARNING);
    }
}

/* --- alerts --------------------------------------------------------------------------------- */

#define LANE_PX 22

static double percent_of_span(const struct story *story, int64_t ms)
{
    int64_t first = story->points[0].ms;
    double percent = 100.0 * (double)(ms - first) / (double)story_span_ms(story);
    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

/* One bar for each episode, from its beginning to its clearing or the end; the tick is the moment
 * the alert was raised. */
static void draw_lane(const struct story *story, int alert, int number, FILE *out)
{
    static const char *const CLASSES[] = {"ok", "warning", "critical"};
    const struct alert *raised = &story->alerts[alert];
    int64_t cleared_ms = story_cleared_ms(story, alert);
    double from = percent_of_span(story, raised->started_ms);
    double at = percent_of_span(story, raised->ms);
    double to = cleared_ms < 0 ? 100 : percent_of_span(story, cleared_ms);
    fprintf(out,
            "<text x=\"0\" y=\"%d\">%d</text><svg x=\"3%%\" y=\"%d\" width=\"97%%\" height=\"%d\" "
            "class=\"%s\"><rect class=\"track\" width=\"100%%\" y=\"6\" height=\"10\" rx=\"5\"/>"
            "<rect class=\"bar\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"6\" height=\"10\" rx=\"5\"/>"
            "<rect class=\"tick\" x=\"%.2f%%\" width=\"2\" y=\"3\" height=\"16\"/></svg>\n",
            (number - 1) * LANE_PX + 15, number, (number - 1) * LANE_PX, LANE_PX,
            CLASSES[raised->finding.severity], from, to > from + 0.5 ? to - from : 0.5, at);
}

static void put_timeline(const struct story *story, struct page *page)
{
    static const char *const ANCHORS[] = {"start", "middle", "end"};
    char *svg = NULL;
    size_t size = 0;
    int number = 0, height = (story_raised(story) + 1) * LANE_PX;
    FILE *out = story_span_ms(story) > 0 ? open_memstream(&svg, &size) : NULL;
    if (out == NULL)
        return;
    fprintf(out, "<svg class=\"lanes\" width=\"100%%\" height=\"%d\">\n", height);
    for (int i = 0; i < story->alert_count; i++)
        if (story->alerts[i].state == ALERT_RAISED)
            draw_lane(story, i, ++number, out);
    for (int i = 0; i < 3; i++)
        fprintf(out, "<text x=\"%g%%\" y=\"%d\" text-anchor=\"%s\">%s</text>", 3 + 48.5 * i,
                height - 6, ANCHORS[i],
                units_clock(story->points[0].ms + story_span_ms(story) * i / 2).text);
    fputs("</svg>", out);
    if (fclose(out) == 0)
        page_chart(page, "When alerts were up", NULL, svg, NULL);
    free(svg);
}

static void put_alert(const struct story *story, int index, int number, struct page *page)
{
    const struct alert *alert = &story->alerts[index];
    int64_t cleared_ms = story_cleared_ms(story, index);
    page_finding(page, &alert->finding);
    page_anchor(page, "alert-%d", number);
    page_finding_number(page, number);
    page_finding_when(page, "raised at %s%s%s", units_clock(alert->ms).text,
                      cleared_ms >= 0 ? ", cleared at " : "",
                      cleared_ms >= 0 ? units_clock(cleared_ms).text : "");
}

static void put_alerts(const struct story *story, struct page *page)
{
    int number = 0;
    page_heading(page, "Alerts");
    if (story_raised(story) == 0)
        page_text(page, "None was raised.");
    else
        put_timeline(story, page);
    for (int i = 0; i < story->alert_count; i++)
        if (story->alerts[i].state == ALERT_RAISED)
            put_alert(story, i, ++number, page);
    if (story->alerts_dropped > 0)
        page_text(page, "%" PRId64 " more raisings and clearings are not shown.",
                  story->alerts_dropped);
}

static void put_charts(const struct story_chart *charts, int count, const char *no_charts,
                       struct page *page)
{
    if (count == 0 && no_charts == NULL)
        return;
    page_heading(page, "Over time");
    if (count == 0)
        page_text(page, "%s", no_charts);
    for (int i = 0; i < count; i++) {
        page_chart(page, charts[i].title, charts[i].caption, charts[i].svg, charts[i].file);
        page_shows(page, charts[i].subjects);
    }
}

/* --- families and loaders ------------------------------------------------------------------- */

static void put_family(const struct story_family *seen, struct page *page)
{
    const struct family_row *row = &seen->row;
    const struct family *family = family_by_id(row->family);
    bool flow = seen->method == CENSUS_LOAD_LOG;
    double per_s;
    page_row(page, row->family, story_family_rate(seen, &per_s) ? units_rate(per_s).text : "",
             count_or_none(flow ? row->loads : -1).text,
             count_or_none(flow ? row->unloads : -1).text, count_or_none(seen->alive).text,
             count_or_none(row->max_same_name > 0 ? row->max_same_name : -1).text,
             seen->method < CENSUS_METHOD_COUNT ? census_method_name(seen->method) : "");
    page_row_fact(page, "Producer",
                  family != NULL ? family->producer : "unknown, found by the shape of its names");
    page_row_fact(page, "Example", row->example);
    page_row_fact(page, "Source", row->source);
    page_row_fact(page, "Invokes", row->invokes);
    if (family != NULL)
        page_row_fact(page, "Grows because", family->cause);
    page_row_fact(page, "Change",
                  family != NULL
                      ? family->fix
                      : "Find the code that defines these classes and cache what it makes.");
}

static void put_families(const struct story *story, struct page *page)
{
    page_heading(page, "Families of generated classes");
    page_shows(page, SUBJECT_CLASSES);
    if (story->family_count == 0) {
        page_text(page, "No class names were collected: class loads stayed below the trigger rate, "
                        "or the pause budget was used up.");
        return;
    }
    page_table(page, "Family", "#Rate", "#Loaded", "#Unloaded", "#Alive", "#Most of one name",
               "Seen by");
    for (int i = 0; i < story->family_count; i++)
        put_family(&story->families[i], page);
    if (story->families_dropped > 0)
        page_text(page, "%" PRId64 " rows of smaller families are not shown.",
                  story->families_dropped);
}

static void put_loaders(const struct story *story, struct page *page)
{
    if (story->loader_count == 0)
        return;
    page_heading(page, "Class loaders");
    page_shows(page, SUBJECT_LOADERS);
    page_table(page, "Type", "#At first", "#At last", "#Classes", "#Chunks");
    for (int i = 0; i < story->loader_count; i++) {
        const struct loader_row *row = &story->loaders[i];
        page_row(page, row->type, count_or_none(story->loaders_at_first[i]).text,
                 units_count(row->loaders).text, units_count(row->classes).text,
                 units_bytes(row->chunk_bytes).text);
    }
}

/* --- objects ---------------------------------------------------------------------------------- */

#define HEAP_ROWS 20

void heap_growth_head(struct page *page)
{
    page_table(page, "Class", "#Growth", "#Bytes", "#Objects grown by", "#Objects", "Family");
}

void heap_growth_row(struct page *page, const struct histogram_class *row)
{
    const struct family *family = family_by_id(row->family);
    page_row(page, row->name, units_growth(row->bytes_growth).text, units_bytes(row->bytes).text,
             units_count(row->instances_growth).text, units_count(row->instances).text,
             row->family);
    if (row->family[0] != '\0')
        page_row_fact(page, "Generated classes", units_count(row->classes).text);
    if (family != NULL)
        page_row_fact(page, "Producer", family->producer);
}

static void put_heap(const struct story *story, struct page *page)
{
    const struct story_heap *heap = &story->heap;
    int growing = story_heap_growing(story);
    if (heap->histograms == 0)
        return;
    page_heading(page, "Objects that grew");
    page_shows(page, SUBJECT_HEAP);
    page_text(
        page,
        "%s of the heap, garbage included, the first at %s, the last at %s: %s in %s objects, "
        "then %s in %s.",
        heap->histograms == 1 ? "One histogram" : "Histograms", units_clock(heap->first_ms).text,
        units_clock(heap->last_ms).text, units_bytes(heap->first_bytes).text,
        units_count(heap->first_instances).text, units_bytes(heap->last_bytes).text,
        units_count(heap->last_instances).text);
    if (growing == 0) {
        page_text(page, "No class has more bytes than in the first one.");
        return;
    }
    heap_growth_head(page);
    for (int i = 0; i < growing && i < HEAP_ROWS; i++)
        heap_growth_row(page, &heap->classes[i].last);
    if (growing > HEAP_ROWS)
        page_text(page, "%d more classes have grown less.", growing - HEAP_ROWS);
}

/* --- methods ---------------------------------------------------------------------------------- */

#define METHOD_ROWS 12

void methods_section(struct page *page, const struct sample *latest,
                     const struct kept_methods *methods)
{
    static const char *const SOURCES[METHODS_SOURCE_COUNT] = {
        [METHODS_MEAN] = "not counted: the documented mean for each class",
        [METHODS_AGENT] = "counted by the agent",
        [METHODS_COUNTED] = "counted from outside"};
    const struct methods_event *event = &methods->event;
    int64_t number, source;
    if (!sample_get(latest, SAMPLE_METHODS, &number) ||
        !sample_get(latest, SAMPLE_METHODS_SOURCE, &source) || source < 0 ||
        source >= METHODS_SOURCE_COUNT)
        return;
    page_heading(page, "Methods");
    page_shows(page, SUBJECT_METHODS | SUBJECT_AGENT);
    page_text(page, "%s methods, %s. Typical applications have 150 000 to 1 500 000.",
              units_count(number).text, SOURCES[source]);
    if (event->methods <= 0)
        return;
    if (event->row_count > 0)
        page_table(page, "Family", "#Classes", "#Methods", "#Methods a class");
    for (int i = 0; i < event->row_count && i < METHOD_ROWS; i++) {
        const struct method_family *row = &event->rows[i];
        char each[32];
        snprintf(each, sizeof each, "%.1f",
                 row->classes > 0 ? (double)row->methods / (double)row->classes : 0.0);
        page_row(page, row->family, units_count(row->classes).text, units_count(row->methods).text,
                 each);
    }
    page_text(page, "The classes of the application's loaders: %s methods in %s classes.",
              units_count(event->own_methods).text, units_count(event->own_classes).text);
}

static void put_methods(const struct story *story, struct page *page)
{
    struct sample latest;
    sample_clear(&latest);
    for (int i = 0; i < story->point_count; i++)
        sample_merge(&latest, &story->points[i].sample);
    methods_section(page, &latest, &story->methods);
}

/* --- cost, thresholds, notes ---------------------------------------------------------------- */

static void put_cost(const struct story *story, struct page *page)
{
    page_heading(page, "What the watching cost");
    if (story->watch_cost[0] != '\0')
        page_text(page, "%s", story->watch_cost);
    if (story->cost_count == 0) {
        page_text(page, "No command that stops the application was used.");
        return;
    }
    page_table(page, "Command", "#Runs", "#Pauses, at most", "#Longest", "#Skipped",
               "Last skipped because");
    for (int i = 0; i < story->cost_count; i++) {
        const struct story_cost *cost = &story->costs[i];
        page_row(page, cost->command, units_count(cost->runs).text,
                 units_microseconds(cost->measured_us).text,
                 units_microseconds(cost->worst_us).text, units_count(cost->skipped).text,
                 cost->last_skip_reason);
    }
}

static void put_thresholds(const struct story *story, struct page *page)
{
    page_details(page, "Thresholds in force", false);
    page_table(page, "Threshold", "#Value", "Meaning");
    for (int t = 0; t < THRESHOLD_COUNT; t++) {
        const struct threshold_row *row = threshold_row((enum threshold)t);
        int64_t value = story->thresholds.value[t];
        char key[64], meaning[512];
        snprintf(key, sizeof key, "_%s", row->unit);
        snprintf(meaning, sizeof meaning, "%s%s", row->meaning,
                 value != row->dflt ? " (changed from the default)" : "");
        page_row(page, row->key, units_figure(key, value).text, meaning);
    }
    page_details_end(page);
}

static void put_notes(const struct story *story, struct page *page)
{
    if (story->note_count == 0)
        return;
    page_details(page, "Notes", true);
    page_facts(page);
    for (int i = 0; i < story->note_count; i++)
        page_fact(page, units_clock(story->notes[i].ms).text, story->notes[i].text);
    if (story->notes_dropped > 0)
        page_text(page, "%" PRId64 " more notes are not shown.", story->notes_dropped);
    page_details_end(page);
}

void story_page(const struct story *story, const struct story_chart *charts, int count,
                const char *no_charts, struct page *page)
{
    put_header(story, page);
    put_facts(story, page);
    put_alerts(story, page);
    put_charts(charts, count, no_charts, page);
    put_families(story, page);
    put_methods(story, page);
    put_loaders(story, page);
    put_heap(story, page);
    put_cost(story, page);
    put_thresholds(story, page);
    put_notes(story, page);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void json_summary(struct json_out *out, const struct story *story)
{
    const struct judge_view *view = &story->view;
    bool baseline = view->baseline_ms >= 0;
    json_out_begin(out, "growth", '{');
    json_out_int_if(out, "baseline_ms", baseline, view->baseline_ms);
    json_out_text(out, "warmup_ended", view->warm ? view->warmup_reason : NULL);
    json_out_text(out, "internal_means", internal_meaning(story->identity.jdk_major));
    json_out_int_if(out, "internal_bytes", view->have_internal, view->internal_bytes);
    json_out_int_if(out, "internal_growth_bytes", baseline && view->have_internal,
                    view->internal_growth_bytes);
    json_out_int_if(out, "class_metaspace_bytes", view->have_class_metaspace,
                    view->class_metaspace_bytes);
    json_out_int_if(out, "class_metaspace_growth_bytes", baseline && view->have_class_metaspace,
                    view->class_metaspace_growth_bytes);
    if (view->have_rates) {
        json_out_real(out, "load_per_s", view->load_per_s);
        json_out_real(out, "unload_per_s", view->unload_per_s);
        json_out_real(out, "net_per_s", view->net_per_s);
    }
    json_out_end(out, '}');
}

/* What the profiler in the JVM came to; null when there was none. */
static void json_agent(struct json_out *out, const struct story *story)
{
    static const enum sample_field FIELDS[] = {
        SAMPLE_AGENT_RESERVED_BYTES, SAMPLE_AGENT_RESIDENT_BYTES, SAMPLE_AGENT_JMETHOD_ID_BYTES};
    int64_t first, last;
    if (!story_first_last(story, SAMPLE_AGENT_RESIDENT_BYTES, &first, &last)) {
        json_out_null(out, "agent");
        return;
    }
    json_out_begin(out, "agent", '{');
    for (size_t i = 0; i < sizeof FIELDS / sizeof FIELDS[0]; i++) {
        bool seen = story_first_last(story, FIELDS[i], &first, &last);
        json_out_int_if(out, sample_field_key(FIELDS[i]) + strlen("agent_"), seen, last);
    }
    json_out_end(out, '}');
}

static void json_alerts(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "alerts", '[');
    for (int i = 0; i < story->alert_count; i++) {
        const struct alert *alert = &story->alerts[i];
        if (alert->state != ALERT_RAISED)
            continue;
        int64_t cleared_ms = story_cleared_ms(story, i);
        json_out_begin(out, NULL, '{');
        json_out_int(out, "ms", alert->ms);
        json_out_int(out, "started_ms", alert->started_ms);
        json_out_int_if(out, "cleared_ms", cleared_ms >= 0, cleared_ms);
        finding_json_members(out, &alert->finding);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_int(out, "alerts_dropped", story->alerts_dropped);
}

static void json_families(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "families", '[');
    for (int i = 0; i < story->family_count; i++) {
        const struct story_family *seen = &story->families[i];
        const struct family *family = family_by_id(seen->row.family);
        bool flow = seen->method == CENSUS_LOAD_LOG;
        double per_s = 0;
        json_out_begin(out, NULL, '{');
        fields_write(out, &family_texts_record, &seen->row, false);
        json_out_text(out, "method",
                      seen->method < CENSUS_METHOD_COUNT ? census_method_name(seen->method) : NULL);
        bool rated = story_family_rate(seen, &per_s);
        json_out_real_if(out, "rate_per_s", rated, per_s);
        json_out_int_if(out, "loads", flow, seen->row.loads);
        json_out_int_if(out, "unloads", flow, seen->row.unloads);
        json_out_int_if(out, "alive", seen->alive >= 0, seen->alive);
        json_out_int(out, "names", seen->row.names);
        json_out_int(out, "max_same_name", seen->row.max_same_name);
        json_out_int(out, "observed_ms", seen->observed_ms);
        json_out_text(out, "producer", family != NULL ? family->producer : NULL);
        json_out_text(out, "cause", family != NULL ? family->cause : NULL);
        json_out_text(out, "fix", family != NULL ? family->fix : NULL);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_int(out, "families_dropped", story->families_dropped);
}

static void json_loaders(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "loaders", '[');
    for (int i = 0; i < story->loader_count; i++) {
        json_out_begin(out, NULL, '{');
        fields_write(out, &loader_record, &story->loaders[i], false);
        json_out_int_if(out, "loaders_at_first", story->loaders_at_first[i] >= 0,
                        story->loaders_at_first[i]);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
}

static void json_heap(struct json_out *out, const struct story *story)
{
    const struct story_heap *heap = &story->heap;
    int growing = story_heap_growing(story);
    if (heap->histograms == 0) {
        json_out_null(out, "heap");
        return;
    }
    json_out_begin(out, "heap", '{');
    json_out_int(out, "histograms", heap->histograms);
    json_out_int(out, "first_ms", heap->first_ms);
    json_out_int(out, "last_ms", heap->last_ms);
    json_out_int(out, "first_bytes", heap->first_bytes);
    json_out_int(out, "last_bytes", heap->last_bytes);
    json_out_int(out, "first_instances", heap->first_instances);
    json_out_int(out, "last_instances", heap->last_instances);
    json_out_begin(out, "grown", '[');
    for (int i = 0; i < growing && i < HEAP_ROWS; i++) {
        const struct story_heap_class *class = &heap->classes[i];
        json_out_begin(out, NULL, '{');
        fields_write(out, &histogram_class_record, &class->last, false);
        json_out_begin(out, "series", '[');
        for (int k = 0; k < class->point_count; k++) {
            json_out_begin(out, NULL, '{');
            json_out_int(out, "ms", class->points[k].ms);
            json_out_int(out, "instances", class->points[k].instances);
            json_out_int(out, "bytes", class->points[k].bytes);
            json_out_end(out, '}');
        }
        json_out_end(out, ']');
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
}

static void json_methods(struct json_out *out, const struct story *story)
{
    int64_t first, last, source = -1;
    if (!story_first_last(story, SAMPLE_METHODS, &first, &last)) {
        json_out_null(out, "methods");
        return;
    }
    story_first_last(story, SAMPLE_METHODS_SOURCE, &(int64_t){0}, &source);
    json_out_begin(out, "methods", '{');
    json_out_text(out, "source", methods_source_name(source));
    json_out_int(out, "first", first);
    json_out_int(out, "last", last);
    if (story->methods.event.methods > 0)
        fields_write_object(out, "counted", &methods_record, &story->methods.event);
    json_out_end(out, '}');
}

static void json_cost(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "cost", '{');
    json_out_text_if(out, "watcher", story->watch_cost);
    json_out_begin(out, "commands", '[');
    for (int i = 0; i < story->cost_count; i++) {
        const struct story_cost *cost = &story->costs[i];
        json_out_begin(out, NULL, '{');
        json_out_text(out, "command", cost->command);
        json_out_int(out, "runs", cost->runs);
        json_out_int(out, "skipped", cost->skipped);
        json_out_int(out, "measured_us", cost->measured_us);
        json_out_int(out, "worst_us", cost->worst_us);
        json_out_text_if(out, "last_skip_reason", cost->last_skip_reason);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_end(out, '}');
}

static void json_notes(struct json_out *out, const struct story *story)
{
    json_out_begin(out, "notes", '[');
    for (int i = 0; i < story->note_count; i++) {
        json_out_begin(out, NULL, '{');
        json_out_int(out, "ms", story->notes[i].ms);
        json_out_text(out, "text", story->notes[i].text);
        json_out_end(out, '}');
    }
    json_out_end(out, ']');
    json_out_int(out, "notes_dropped", story->notes_dropped);
}

const char *report_json(struct json_out *out, const struct story *story)
{
    char verdict[2048];
    story_verdict(story, verdict, sizeof verdict);
    json_out_open(out);
    json_out_text(out, "verdict", verdict);
    json_out_text(out, "status", story_status_name(story_status(story)));
    json_out_text(out, "nmtwatch", NMTWATCH_VERSION);
    json_out_int(out, "wall_start_ms", story->wall_start_ms);
    json_out_int(out, "span_ms", story_span_ms(story));
    json_out_begin(out, "target", '{');
    fields_write(out, &target_record, &story->identity, false);
    json_out_end(out, '}');
    json_summary(out, story);
    json_agent(out, story);
    json_alerts(out, story);
    json_families(out, story);
    json_loaders(out, story);
    json_heap(out, story);
    json_methods(out, story);
    json_cost(out, story);
    json_out_begin(out, "thresholds", '{');
    for (int t = 0; t < THRESHOLD_COUNT; t++)
        json_out_int(out, threshold_row((enum threshold)t)->key, story->thresholds.value[t]);
    json_out_end(out, '}');
    json_notes(out, story);
    json_out_text_if(out, "damage", story->damage);
    return json_out_close(out);
}
