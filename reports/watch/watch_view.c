#include "reports/watch/watch_view.h"

#include "analyzers/classes/heap_census.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"
#include "analyzers/native/internal.h"

#include <inttypes.h>

/* The main class, or the file name of the jar: what fits into a line. */
static struct escaped_name main_name(const struct target_identity *target)
{
    const char *slash = strrchr(target->main, '/');
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : target->main;
    return escape_name(name[0] != '\0' ? name : "?");
}

/* --- alerts ---------------------------------------------------------------------------------- */

void terminal_alert(const struct terminal *terminal, const struct target_identity *target,
                    const struct alert *alert)
{
    const struct finding *finding = &alert->finding;
    bool raised = alert->state == ALERT_RAISED;
    terminal_finding_name(terminal, raised ? severity_name(finding->severity) : "CLEARED",
                          raised ? terminal_severity_colour(finding->severity) : TERMINAL_GREEN,
                          finding);
    fprintf(terminal->out, "  %s%s  pid %" PRId64 " %s%s\n", terminal_paint(terminal, TERMINAL_DIM),
            units_clock(alert->ms).text, target->pid, main_name(target).text,
            terminal_paint(terminal, TERMINAL_PLAIN));
    terminal_wrapped(terminal, 2, finding->title);
    if (raised)
        terminal_finding_details(terminal, finding);
    else
        terminal_finding_figure(terminal, "it lasted",
                                units_duration(alert->ms - alert->started_ms).text);
}

/* --- ticks and the table -------------------------------------------------------------------- */

/* What a tick and a row show, as text; "-" where it is missing. */
struct figures {
    struct units_text classes, load, unload, metaspace, internal, growth, rss;
};

static const struct units_text MISSING = {"-"};

static struct units_text bytes_or_missing(const struct sample *sample, enum sample_field field)
{
    int64_t value;
    return sample_get(sample, field, &value) ? units_bytes(value) : MISSING;
}

static struct figures figures_of(const struct sample *sample, const struct judge_view *view)
{
    struct figures figures = {MISSING, MISSING, MISSING, MISSING, MISSING, MISSING, MISSING};
    int64_t loaded, unloaded;
    if (sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded) &&
        sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded))
        figures.classes = units_count(loaded - unloaded);
    figures.metaspace = bytes_or_missing(sample, SAMPLE_METASPACE_COMMITTED_BYTES);
    figures.rss = bytes_or_missing(sample, SAMPLE_RSS_BYTES);
    if (view == NULL)
        return figures;
    if (view->have_rates) {
        figures.load = units_rate(view->load_per_s);
        figures.unload = units_rate(view->unload_per_s);
    }
    if (view->have_internal) {
        figures.internal = units_bytes(view->internal_bytes);
        if (view->baseline_ms >= 0)
            figures.growth = units_growth(view->internal_growth_bytes);
    }
    return figures;
}

/* "warming up", "2 alerts", "ok". */
static struct units_text state_of(const struct judge_view *view, enum terminal_colour *colour)
{
    struct units_text text = {"-"};
    *colour = TERMINAL_PLAIN;
    if (view == NULL)
        return text;
    if (view->active_alerts > 0) {
        snprintf(text.text, sizeof text.text, "%d alert%s", view->active_alerts,
                 view->active_alerts == 1 ? "" : "s");
        *colour = terminal_severity_colour(view->worst_active);
    } else if (!view->warm) {
        snprintf(text.text, sizeof text.text, "warming up");
    } else {
        snprintf(text.text, sizeof text.text, "ok");
        *colour = TERMINAL_GREEN;
    }
    return text;
}

/* "agent 1.2 MB, jmethodIDs 0.4 MB": what the profiler costs the JVM, the first outside of NMT, the
 * second inside. False when there is none. */
static bool describe_agent(const struct sample *sample, char *out, size_t size)
{
    int64_t resident, ids;
    if (!sample_get(sample, SAMPLE_AGENT_RESIDENT_BYTES, &resident))
        return false;
    int used = snprintf(out, size, "agent %s", units_bytes(resident).text);
    if (sample_get(sample, SAMPLE_AGENT_JMETHOD_ID_BYTES, &ids))
        snprintf(out + used, size - (size_t)used, ", jmethodIDs %s", units_bytes(ids).text);
    return true;
}

void terminal_tick(const struct terminal *terminal, const struct target_identity *target,
                   int64_t ms, const struct sample *sample, const struct judge_view *view)
{
    char agent[128];
    bool profiled = describe_agent(sample, agent, sizeof agent);
    struct figures figures = figures_of(sample, view);
    enum terminal_colour colour;
    struct units_text state = state_of(view, &colour);
    fprintf(terminal->out,
            "%s pid %" PRId64
            " classes %s (+%s -%s) metaspace %s internal %s (%s) rss %s%s%s %s%s%s\n",
            units_clock(ms).text, target->pid, figures.classes.text, figures.load.text,
            figures.unload.text, figures.metaspace.text, figures.internal.text, figures.growth.text,
            figures.rss.text, profiled ? " " : "", profiled ? agent : "",
            terminal_paint(terminal, colour), state.text,
            colour == TERMINAL_PLAIN ? "" : terminal_paint(terminal, TERMINAL_PLAIN));
}

/* The table's columns; MAIN takes what is left. On a narrow terminal those that matter less go:
 * a row that wraps could not be drawn again in place. */
enum column {
    PID,
    WATCHED,
    CLASSES,
    LOADS,
    UNLOADS,
    METASPACE,
    INTERNAL,
    GROWTH,
    RSS,
    STATE,
    MAIN,
    COLUMNS
};
static const struct terminal_column TABLE[COLUMNS] = {
    [PID] = {"PID", true, 7, TERMINAL_PLAIN},
    [WATCHED] = {"WATCHED", true, 8, TERMINAL_PLAIN},
    [CLASSES] = {"CLASSES", true, 9, TERMINAL_PLAIN},
    [LOADS] = {"LOADS", true, 8, TERMINAL_PLAIN},
    [UNLOADS] = {"UNLOADS", true, 8, TERMINAL_PLAIN},
    [METASPACE] = {"METASPACE", true, 9, TERMINAL_PLAIN},
    [INTERNAL] = {"INTERNAL", true, 9, TERMINAL_PLAIN},
    [GROWTH] = {"GROWTH", true, 9, TERMINAL_PLAIN},
    [RSS] = {"RSS", true, 9, TERMINAL_PLAIN},
    [STATE] = {"STATE", false, 10, TERMINAL_PLAIN},
    [MAIN] = {"MAIN", false, 0, TERMINAL_PLAIN},
};
#define MAIN_COLUMNS_MIN 12

/* Bit per column that is shown; *room is what is left for MAIN. */
static unsigned shown_columns(const struct terminal *terminal, int *room)
{
    static const enum column DROPPED_FIRST[] = {UNLOADS, WATCHED, METASPACE, RSS};
    unsigned shown = (1u << COLUMNS) - 1;
    *room = terminal_width(terminal);
    for (int i = 0; i < MAIN; i++)
        *room -= TABLE[i].width + 1;
    for (size_t i = 0; i < sizeof DROPPED_FIRST / sizeof DROPPED_FIRST[0]; i++) {
        if (*room >= MAIN_COLUMNS_MIN)
            break;
        shown &= ~(1u << DROPPED_FIRST[i]);
        *room += TABLE[DROPPED_FIRST[i]].width + 1;
    }
    return shown;
}

/* cells NULL: the heads. */
static void print_line(const struct terminal *terminal, unsigned shown, const char *const *cells,
                       enum terminal_colour state)
{
    struct terminal_column columns[COLUMNS];
    const char *chosen[COLUMNS];
    struct terminal_table table = {.gap = 1, .columns = columns, .cells = chosen};
    for (int i = 0; i < COLUMNS; i++) {
        if ((shown & 1u << i) == 0)
            continue;
        columns[table.column_count] = TABLE[i];
        if (i == STATE)
            columns[table.column_count].colour = state;
        chosen[table.column_count++] = cells != NULL ? cells[i] : "";
    }
    table.headless = cells != NULL;
    table.row_count = cells != NULL;
    terminal_table(terminal, &table);
}

void terminal_table_head(const struct terminal *terminal)
{
    int room;
    print_line(terminal, shown_columns(terminal, &room), NULL, TERMINAL_PLAIN);
}

void terminal_table_row(const struct terminal *terminal, const struct target_identity *target,
                        int64_t ms, const struct sample *sample, const struct judge_view *view)
{
    struct figures figures = figures_of(sample, view);
    enum terminal_colour colour;
    struct units_text state = state_of(view, &colour);
    struct units_text clock = units_clock(ms);
    char pid[24], name[512];
    int room;
    unsigned shown = shown_columns(terminal, &room);
    const char *cells[COLUMNS] = {
        [PID] = pid,
        [WATCHED] = clock.text,
        [CLASSES] = figures.classes.text,
        [LOADS] = figures.load.text,
        [UNLOADS] = figures.unload.text,
        [METASPACE] = figures.metaspace.text,
        [INTERNAL] = figures.internal.text,
        [GROWTH] = figures.growth.text,
        [RSS] = figures.rss.text,
        [STATE] = state.text,
        [MAIN] = name,
    };
    snprintf(pid, sizeof pid, "%" PRId64, target->pid);
    escape(ESCAPE_TERMINAL, main_name(target).text, name,
           room < 0                     ? 1
           : (size_t)room < sizeof name ? (size_t)room + 1
                                        : sizeof name);
    print_line(terminal, shown, cells, colour);
}

int terminal_table_agent(const struct terminal *terminal, const struct sample *sample)
{
    char agent[128];
    if (!describe_agent(sample, agent, sizeof agent))
        return 0;
    fprintf(terminal->out, "%*s %s%.*s%s\n", TABLE[PID].width, "",
            terminal_paint(terminal, TERMINAL_DIM), terminal_width(terminal) - TABLE[PID].width - 1,
            agent, terminal_paint(terminal, TERMINAL_PLAIN));
    return 1;
}

void terminal_rewind(const struct terminal *terminal, int lines)
{
    if (lines > 0)
        fprintf(terminal->out, "\033[%dA\r\033[J", lines);
}

/* --- notes and names ------------------------------------------------------------------------ */

void terminal_note(const struct terminal *terminal, const struct target_identity *target,
                   int64_t ms, const char *text)
{
    int column = fprintf(terminal->out, "%s pid %" PRId64 " ", units_clock(ms).text, target->pid);
    terminal_continued(terminal, 8, column, text);
}

void terminal_names(const struct terminal *terminal, const struct names_event *names, int max)
{
    for (int i = 0; i < names->row_count && i < max; i++) {
        const struct family_row *row = &names->rows[i];
        fprintf(terminal->out, "  %s: %s %s", escape_name(row->family).text,
                units_count(row->loads).text, names->method == CENSUS_LOAD_LOG ? "loads" : "alive");
        if (names->method == CENSUS_LOAD_LOG)
            fprintf(terminal->out, ", %s unloads", units_count(row->unloads).text);
        fprintf(terminal->out, ", e.g. %s\n", escape_name(row->example).text);
    }
}

void terminal_callers(const struct terminal *terminal, const struct callers_event *callers, int max)
{
    for (int i = 0; i < callers->row_count && i < max; i++)
        fprintf(terminal->out, "  %s: %s in %s, asked for by %s\n",
                escape_name(callers->rows[i].family).text,
                units_count(callers->rows[i].classes).text, units_duration(callers->for_ms).text,
                escape_name(callers->rows[i].call_site).text);
}

void terminal_histogram(const struct terminal *terminal, const struct histogram_event *histogram,
                        int max)
{
    int growing[HISTOGRAM_ROWS_MAX];
    int count = histogram_growing(histogram, growing, max);
    fprintf(terminal->out, "  heap: %s objects of %s classes, %s%s\n",
            units_count(histogram->instances).text, units_count(histogram->classes).text,
            units_bytes(histogram->bytes).text, count > 0 ? "; grown most since the first:" : "");
    for (int i = 0; i < count; i++) {
        const struct histogram_class *row = &histogram->rows[growing[i]];
        fprintf(terminal->out, "  %s: %s to %s, %s objects%s%s%s\n", escape_name(row->name).text,
                units_growth(row->bytes_growth).text, units_bytes(row->bytes).text,
                units_count(row->instances).text, row->family[0] != '\0' ? " (" : "",
                escape_name(row->family).text, row->family[0] != '\0' ? ")" : "");
    }
}

void terminal_methods(const struct terminal *terminal, const struct methods_event *methods, int max)
{
    double each = methods->classes > 0 ? (double)methods->methods / (double)methods->classes : 0.0;
    fprintf(terminal->out,
            "  methods: %s in %s classes, %.1f a class; most:", units_count(methods->methods).text,
            units_count(methods->classes).text, each);
    for (int i = 0; i < methods->row_count && i < max; i++)
        fprintf(terminal->out, "%s %s %s in %s", i > 0 ? "," : "",
                escape_name(methods->rows[i].family).text,
                units_count(methods->rows[i].methods).text,
                units_count(methods->rows[i].classes).text);
    fputc('\n', terminal->out);
}

/* --- plugin ---------------------------------------------------------------------------------- */

#define UNLIMITED 0

static void print_text(FILE *out, const char *text)
{
    char safe[1024];
    escape(ESCAPE_PLUGIN, text, safe, sizeof safe);
    fputs(safe, out);
}

/* 'label'=value unit;warning;critical;minimum; with an empty place where there is no threshold. */
static void print_figure(FILE *out, const char *of, const char *label, int64_t value,
                         const char *unit, int64_t warning, int64_t critical)
{
    char safe[256];
    escape(ESCAPE_PLUGIN, of, safe, sizeof safe);
    for (char *at = safe; (at = strpbrk(at, "'=")) != NULL;)
        *at = '_';
    fprintf(out, " '%s%s%s'=%" PRId64 "%s;", safe, safe[0] != '\0' ? "::" : "", label, value, unit);
    if (warning != UNLIMITED)
        fprintf(out, "%" PRId64, warning);
    fputc(';', out);
    if (critical != UNLIMITED)
        fprintf(out, "%" PRId64, critical);
    fputs(";0;", out);
}

void plugin_figures(FILE *out, const char *of, const struct sample *sample, int jdk_major,
                    const struct thresholds *thresholds)
{
    /* What plugins call the unit: B bytes, c a counter that only grows. */
    static const struct {
        enum sample_field field;
        const char *label, *unit;
    } FIGURES[] = {
        {SAMPLE_CLASSES_LOADED, "classes_loaded", "c"},
        {SAMPLE_CLASSES_UNLOADED, "classes_unloaded", "c"},
        {SAMPLE_METASPACE_COMMITTED_BYTES, "metaspace", "B"},
        {SAMPLE_LOADERS, "loaders", ""},
        {SAMPLE_RSS_BYTES, "rss", "B"},
        {SAMPLE_NMT_COMMITTED_BYTES, "nmt_committed", "B"},
        {SAMPLE_THREADS, "threads", ""},
        {SAMPLE_AGENT_RESIDENT_BYTES, "agent", "B"},
        {SAMPLE_AGENT_JMETHOD_ID_BYTES, "agent_jmethod_ids", "B"},
    };
    int64_t value, loaded, unloaded, max;

    if (internal_bytes(sample, jdk_major, &value))
        print_figure(out, of, "internal", value, "B",
                     thresholds->value[TH_INTERNAL_INVESTIGATE_BYTES],
                     thresholds->value[TH_INTERNAL_EXPLOSION_BYTES]);
    if (class_metaspace_bytes(sample, &value))
        print_figure(out, of, "class_metaspace", value, "B", UNLIMITED, UNLIMITED);
    if (sample_get(sample, SAMPLE_CLASSES_LOADED, &loaded) &&
        sample_get(sample, SAMPLE_CLASSES_UNLOADED, &unloaded))
        print_figure(out, of, "classes", loaded - unloaded, "", UNLIMITED, UNLIMITED);
    for (size_t i = 0; i < sizeof FIGURES / sizeof FIGURES[0]; i++) {
        int64_t critical = UNLIMITED;
        if (!sample_get(sample, FIGURES[i].field, &value))
            continue;
        if (FIGURES[i].field == SAMPLE_METASPACE_COMMITTED_BYTES &&
            sample_get(sample, SAMPLE_METASPACE_MAX_BYTES, &max) && max > 0)
            critical = max / 100 * thresholds->value[TH_METASPACE_LIMIT_PERCENT];
        print_figure(out, of, FIGURES[i].label, value, FIGURES[i].unit, UNLIMITED, critical);
    }
}

void plugin_findings(FILE *out, const struct check_result *result)
{
    for (int i = 0; i < result->finding_count; i++) {
        const struct finding *finding = &result->findings[i];
        fprintf(out, "%s %s: ", severity_name(finding->severity), finding_row(finding->kind)->id);
        print_text(out, finding->title);
        if (finding->advice[0]) {
            fputs(" - ", out);
            print_text(out, finding->advice);
        }
        fputc('\n', out);
    }
}

void plugin_reason(FILE *out, const struct check_result *result)
{
    fprintf(out, "%s - ", check_status_name(result->status));
    print_text(out, result->reason);
}

void plugin_print(FILE *out, const struct check_result *result, const struct sample *sample,
                  int jdk_major, const struct thresholds *thresholds)
{
    fputs("NMTWATCH ", out);
    plugin_reason(out, result);
    if (sample != NULL && (sample->present != 0 || sample_has_nmt(sample))) {
        fputs(" |", out);
        plugin_figures(out, "", sample, jdk_major, thresholds);
    }
    fputc('\n', out);
    plugin_findings(out, result);
}
