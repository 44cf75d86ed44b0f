#include "reports/terminal.h"

#include "reports/escape.h"
#include "reports/units.h"

#include <inttypes.h>
#include <string.h>

#define LABEL_COLUMNS 20

enum colour { PLAIN, BOLD, DIM, RED, YELLOW, GREEN };

static const char *paint(const struct terminal *terminal, enum colour colour)
{
    static const char *const SEQUENCES[] = {
        [PLAIN] = "\033[0m",  [BOLD] = "\033[1m",      [DIM] = "\033[2m",
        [RED] = "\033[1;31m", [YELLOW] = "\033[1;33m", [GREEN] = "\033[1;32m",
    };
    return terminal->colour ? SEQUENCES[colour] : "";
}

static enum colour severity_colour(enum severity severity)
{
    return severity == SEVERITY_CRITICAL ? RED : severity == SEVERITY_WARNING ? YELLOW : BOLD;
}

static int width_of(const struct terminal *terminal)
{
    return terminal->width < 40 ? 80 : terminal->width;
}

/* The main class, or the file name of the jar: what fits into a line. */
static struct escaped_name main_name(const struct target_identity *target)
{
    const char *slash = strrchr(target->main, '/');
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : target->main;

    return escape_name(name[0] != '\0' ? name : "?");
}

/* --- wrapping ------------------------------------------------------------------------------- */

/* Words from this column on, further lines indented; the text is safe already. */
static void wrap(const struct terminal *terminal, int indent, int column, const char *safe)
{
    int width = width_of(terminal);
    bool first = true;

    while (*safe) {
        safe += strspn(safe, " ");
        size_t length = strcspn(safe, " ");
        if (length == 0)
            break;
        int columns = 0;
        for (size_t i = 0; i < length; i++)
            columns += ((unsigned char)safe[i] & 0xc0) != 0x80;
        if (!first && column + 1 + columns > width) {
            fprintf(terminal->out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', terminal->out);
            column++;
        }
        fwrite(safe, 1, length, terminal->out);
        column += columns;
        safe += length;
        first = false;
    }
    fputc('\n', terminal->out);
}

void terminal_wrapped(const struct terminal *terminal, int indent, const char *text)
{
    char safe[4096];

    escape(ESCAPE_TERMINAL, text, safe, sizeof safe);
    fprintf(terminal->out, "%*s", indent, "");
    wrap(terminal, indent, indent, safe);
}

static void labelled(const struct terminal *terminal, const char *label, const char *text)
{
    char safe[4096];

    escape(ESCAPE_TERMINAL, text, safe, sizeof safe);
    fprintf(terminal->out, "  %s%-*s%s", paint(terminal, DIM), LABEL_COLUMNS, label,
            paint(terminal, PLAIN));
    wrap(terminal, LABEL_COLUMNS + 2, LABEL_COLUMNS + 2, safe);
}

/* --- findings and alerts -------------------------------------------------------------------- */

/* "slope_low_bytes_per_h" -> "slope low": the unit stands behind the figure. */
static void label_from_key(const char *key, char *label, size_t size)
{
    static const char *const UNITS[] = {"_bytes_per_h", "_bytes", "_per_s", "_percent",
                                        "_ms",          "_us",    "_s"};
    char safe[64];
    size_t length = escape(ESCAPE_TERMINAL, key, safe, sizeof safe);

    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        size_t unit = strlen(UNITS[i]);
        if (length > unit && strcmp(safe + length - unit, UNITS[i]) == 0) {
            safe[length - unit] = '\0';
            break;
        }
    }
    for (char *at = safe; *at; at++) {
        if (*at == '_')
            *at = ' ';
    }
    snprintf(label, size, "%s:", safe);
}

static void print_evidence(const struct terminal *terminal, const struct evidence *one)
{
    char label[72];

    label_from_key(one->key, label, sizeof label);
    switch (one->type) {
    case EVIDENCE_INT:
        labelled(terminal, label, units_figure(one->key, one->number).text);
        break;
    case EVIDENCE_REAL:
        labelled(terminal, label, units_real_figure(one->key, one->real).text);
        break;
    case EVIDENCE_TEXT:
        labelled(terminal, label, one->text);
        break;
    }
}

static void print_details(const struct terminal *terminal, const struct finding *finding)
{
    for (int i = 0; i < finding->evidence_count; i++)
        print_evidence(terminal, &finding->evidence[i]);
    if (finding->advice[0])
        labelled(terminal, "what to do:", finding->advice);
    fprintf(terminal->out, "  %s%-*s%sdocs/runbooks/%s.md\n", paint(terminal, DIM), LABEL_COLUMNS,
            "runbook:", paint(terminal, PLAIN), finding_row(finding->kind)->runbook);
}

static void print_kind(const struct terminal *terminal, const char *word, enum colour colour,
                       const struct finding *finding)
{
    fprintf(terminal->out, "%s%s%s %s%s%s", paint(terminal, colour), word, paint(terminal, PLAIN),
            paint(terminal, BOLD), finding_row(finding->kind)->id, paint(terminal, PLAIN));
    if (finding->family[0])
        fprintf(terminal->out, " %s", escape_name(finding->family).text);
}

void terminal_alert(const struct terminal *terminal, const struct target_identity *target,
                    const struct alert *alert)
{
    const struct finding *finding = &alert->finding;
    bool raised = alert->state == ALERT_RAISED;

    print_kind(terminal, raised ? severity_name(finding->severity) : "CLEARED",
               raised ? severity_colour(finding->severity) : GREEN, finding);
    fprintf(terminal->out, "  %s%s  pid %" PRId64 " %s%s\n", paint(terminal, DIM),
            units_clock(alert->ms).text, target->pid, main_name(target).text,
            paint(terminal, PLAIN));
    terminal_wrapped(terminal, 2, finding->title);
    if (raised)
        print_details(terminal, finding);
    else
        labelled(terminal, "it lasted:", units_duration(alert->ms - alert->started_ms).text);
}

void terminal_finding(const struct terminal *terminal, const struct finding *finding)
{
    print_kind(terminal, severity_name(finding->severity), severity_colour(finding->severity),
               finding);
    fputc('\n', terminal->out);
    terminal_wrapped(terminal, 2, finding->title);
    print_details(terminal, finding);
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
static struct units_text state_of(const struct judge_view *view, enum colour *colour)
{
    struct units_text text = {"-"};

    *colour = PLAIN;
    if (view == NULL)
        return text;
    if (view->active_alerts > 0) {
        snprintf(text.text, sizeof text.text, "%d alert%s", view->active_alerts,
                 view->active_alerts == 1 ? "" : "s");
        *colour = severity_colour(view->worst_active);
    } else if (!view->warm) {
        snprintf(text.text, sizeof text.text, "warming up");
    } else {
        snprintf(text.text, sizeof text.text, "ok");
        *colour = GREEN;
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
    enum colour colour;
    struct units_text state = state_of(view, &colour);

    fprintf(terminal->out,
            "%s pid %" PRId64
            " classes %s (+%s -%s) metaspace %s internal %s (%s) rss %s%s%s %s%s%s\n",
            units_clock(ms).text, target->pid, figures.classes.text, figures.load.text,
            figures.unload.text, figures.metaspace.text, figures.internal.text, figures.growth.text,
            figures.rss.text, profiled ? " " : "", profiled ? agent : "", paint(terminal, colour),
            state.text, colour == PLAIN ? "" : paint(terminal, PLAIN));
}

/* The table's columns; MAIN takes what is left. On a narrow terminal those that matter less go:
 * a row that wraps could not be drawn again in place. */
enum column { PID, WATCHED, CLASSES, LOADS, UNLOADS, METASPACE, INTERNAL, GROWTH, RSS, COLUMNS };
static const struct {
    const char *head;
    int columns;
} TABLE[COLUMNS] = {
    [PID] = {"PID", 7},           [WATCHED] = {"WATCHED", 8}, [CLASSES] = {"CLASSES", 9},
    [LOADS] = {"LOADS", 8},       [UNLOADS] = {"UNLOADS", 8}, [METASPACE] = {"METASPACE", 9},
    [INTERNAL] = {"INTERNAL", 9}, [GROWTH] = {"GROWTH", 9},   [RSS] = {"RSS", 9},
};
#define STATE_COLUMNS    10
#define MAIN_COLUMNS_MIN 12

/* Bit per column that is shown; *room is what is left for MAIN. */
static unsigned shown_columns(const struct terminal *terminal, int *room)
{
    static const enum column DROPPED_FIRST[] = {UNLOADS, WATCHED, METASPACE, RSS};
    unsigned shown = (1u << COLUMNS) - 1;

    *room = width_of(terminal) - STATE_COLUMNS - 2;
    for (int i = 0; i < COLUMNS; i++)
        *room -= TABLE[i].columns + 1;
    for (size_t i = 0; i < sizeof DROPPED_FIRST / sizeof DROPPED_FIRST[0]; i++) {
        if (*room >= MAIN_COLUMNS_MIN)
            break;
        shown &= ~(1u << DROPPED_FIRST[i]);
        *room += TABLE[DROPPED_FIRST[i]].columns + 1;
    }
    return shown;
}

static void print_cells(const struct terminal *terminal, unsigned shown,
                        const char *const cells[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        if (shown & 1u << i)
            fprintf(terminal->out, "%*s ", TABLE[i].columns, cells[i]);
    }
}

void terminal_table_head(const struct terminal *terminal)
{
    const char *cells[COLUMNS];
    int room;
    unsigned shown = shown_columns(terminal, &room);

    for (int i = 0; i < COLUMNS; i++)
        cells[i] = TABLE[i].head;
    fputs(paint(terminal, BOLD), terminal->out);
    print_cells(terminal, shown, cells);
    fprintf(terminal->out, " %-*s %s%s\n", STATE_COLUMNS, "STATE", "MAIN", paint(terminal, PLAIN));
}

void terminal_table_row(const struct terminal *terminal, const struct target_identity *target,
                        int64_t ms, const struct sample *sample, const struct judge_view *view)
{
    struct figures figures = figures_of(sample, view);
    enum colour colour;
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
    };

    snprintf(pid, sizeof pid, "%" PRId64, target->pid);
    escape(ESCAPE_TERMINAL, main_name(target).text, name,
           room < 0                     ? 1
           : (size_t)room < sizeof name ? (size_t)room + 1
                                        : sizeof name);
    print_cells(terminal, shown, cells);
    fprintf(terminal->out, " %s%-*s%s %s\n", paint(terminal, colour), STATE_COLUMNS, state.text,
            colour == PLAIN ? "" : paint(terminal, PLAIN), name);
}

int terminal_table_agent(const struct terminal *terminal, const struct sample *sample)
{
    char agent[128];

    if (!describe_agent(sample, agent, sizeof agent))
        return 0;
    fprintf(terminal->out, "%*s %s%.*s%s\n", TABLE[PID].columns, "", paint(terminal, DIM),
            width_of(terminal) - TABLE[PID].columns - 1, agent, paint(terminal, PLAIN));
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
    char safe[2048];

    escape(ESCAPE_TERMINAL, text, safe, sizeof safe);
    wrap(terminal, 8, column, safe);
}

void terminal_names(const struct terminal *terminal, const struct names_event *names, int max)
{
    for (int i = 0; i < names->row_count && i < max; i++) {
        const struct family_row *row = &names->rows[i];
        fprintf(terminal->out, "  %s: %s %s", escape_name(row->family).text,
                units_count(row->loads).text, names->method == CENSUS_TAP ? "loads" : "alive");
        if (names->method == CENSUS_TAP)
            fprintf(terminal->out, ", %s unloads", units_count(row->unloads).text);
        fprintf(terminal->out, ", e.g. %s\n", escape_name(row->example).text);
    }
}
