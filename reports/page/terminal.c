#include "reports/page/terminal.h"

#include "reports/text/escape.h"
#include "reports/text/units.h"
#include "reports/page/page.h"

#include <stdlib.h>

/* --- labels of figures ---------------------------------------------------------------------- */

static const struct {
    const char *key, *label;
} ROWS[] = {
#define EVIDENCE(key, label) {key, label},
#include "reports/page/evidence.def"
#undef EVIDENCE
};

/* A key of another version, read from a recording: its words. */
static void label_from_key(const char *key, char *label, size_t size)
{
    span_copy(span_from_cstr(key), label, size);
    for (char *at = label; *at != '\0'; at++)
        if (*at == '_')
            *at = ' ';
}

const char *evidence_label(const char *key)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (strcmp(ROWS[i].key, key) == 0)
            return ROWS[i].label;
    return NULL;
}

struct evidence_text evidence_text(const struct evidence *evidence)
{
    struct evidence_text text;
    const char *label = evidence_label(evidence->key), *value = evidence->text;
    struct units_text figure;
    if (label != NULL)
        span_copy(span_from_cstr(label), text.label, sizeof text.label);
    else
        label_from_key(evidence->key, text.label, sizeof text.label);
    if (evidence->type != EVIDENCE_TEXT) {
        figure = evidence->type == EVIDENCE_INT ? units_figure(evidence->key, evidence->number)
                                                : units_real_figure(evidence->key, evidence->real);
        value = figure.text;
    }
    span_copy(span_from_cstr(value), text.value, sizeof text.value);
    return text;
}

/* --- terminal ------------------------------------------------------------------------------- */

#define FINDING_LABEL_COLUMNS 20
#define CUT_MIN               8 /* columns: less is no name */

const char *terminal_paint(const struct terminal *terminal, enum terminal_colour colour)
{
    static const char *const SEQUENCES[] = {
        [TERMINAL_PLAIN] = "\033[0m",     [TERMINAL_BOLD] = "\033[1m",
        [TERMINAL_DIM] = "\033[2m",       [TERMINAL_RED] = "\033[1;31m",
        [TERMINAL_YELLOW] = "\033[1;33m", [TERMINAL_GREEN] = "\033[1;32m",
    };
    return terminal->colour ? SEQUENCES[colour] : "";
}

enum terminal_colour terminal_severity_colour(enum severity severity)
{
    return severity == SEVERITY_CRITICAL  ? TERMINAL_RED
           : severity == SEVERITY_WARNING ? TERMINAL_YELLOW
                                          : TERMINAL_BOLD;
}

int terminal_width(const struct terminal *terminal)
{
    return terminal->width < 40 ? 80 : terminal->width;
}

/* --- sentences -------------------------------------------------------------------------------- */

void terminal_continued(const struct terminal *terminal, int indent, int column, const char *text)
{
    int width = terminal_width(terminal);
    bool first = true;
    char *safe = escape_copy(ESCAPE_TERMINAL, text);
    for (const char *at = safe; at != NULL && *at != '\0';) {
        at += strspn(at, " ");
        size_t length = strcspn(at, " ");
        if (length == 0)
            break;
        int columns = 0;
        for (size_t i = 0; i < length; i++)
            columns += ((unsigned char)at[i] & 0xc0) != 0x80;
        if (!first && column + 1 + columns > width) {
            fprintf(terminal->out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', terminal->out);
            column++;
        }
        fwrite(at, 1, length, terminal->out);
        column += columns;
        at += length;
        first = false;
    }
    fputc('\n', terminal->out);
    free(safe);
}

void terminal_wrapped(const struct terminal *terminal, int indent, const char *text)
{
    fprintf(terminal->out, "%*s", indent, "");
    terminal_continued(terminal, indent, indent, text);
}

void terminal_labelled(const struct terminal *terminal, int indent, const char *label, int width,
                       const char *text)
{
    char *safe = escape_copy(ESCAPE_TERMINAL, label);
    int columns = safe != NULL ? (int)escape_columns(safe) + 1 : 0;
    int padding = columns < width ? width - columns : 1;
    fprintf(terminal->out, "%*s%s%s:%*s%s", indent, "", terminal_paint(terminal, TERMINAL_DIM),
            safe != NULL ? safe : "", padding, "", terminal_paint(terminal, TERMINAL_PLAIN));
    terminal_continued(terminal, width + indent, columns + padding + indent, text);
    free(safe);
}

/* --- findings --------------------------------------------------------------------------------- */

void terminal_finding_name(const struct terminal *terminal, const char *word,
                           enum terminal_colour colour, const struct finding *finding)
{
    fprintf(terminal->out, "%s%s%s %s%s%s", terminal_paint(terminal, colour), word,
            terminal_paint(terminal, TERMINAL_PLAIN), terminal_paint(terminal, TERMINAL_BOLD),
            finding_row(finding->kind)->id, terminal_paint(terminal, TERMINAL_PLAIN));
    if (finding->family[0] != '\0') {
        fputc(' ', terminal->out);
        escape_put(ESCAPE_TERMINAL, finding->family, terminal->out);
    }
}

void terminal_finding_figure(const struct terminal *terminal, const char *label, const char *text)
{
    terminal_labelled(terminal, 2, label, FINDING_LABEL_COLUMNS, text);
}

void terminal_finding_details(const struct terminal *terminal, const struct finding *finding)
{
    char runbook[128];
    for (int i = 0; i < finding->evidence_count; i++) {
        struct evidence_text text = evidence_text(&finding->evidence[i]);
        terminal_finding_figure(terminal, text.label, text.value);
    }
    if (finding->advice[0] != '\0')
        terminal_finding_figure(terminal, "what to do", finding->advice);
    snprintf(runbook, sizeof runbook, "nmtwatch explain %s", finding_row(finding->kind)->id);
    terminal_finding_figure(terminal, "runbook", runbook);
}

/* --- the table -------------------------------------------------------------------------------- */

static void print_row(const struct terminal *terminal, const struct terminal_table *table,
                      char *const *cells, const int *width, bool head)
{
    fprintf(terminal->out, "%*s", table->indent, "");
    for (int c = 0; c < table->column_count; c++) {
        const struct terminal_column *column = &table->columns[c];
        int columns = (int)escape_columns(cells[c]);
        int padding = width[c] > columns ? width[c] - columns : 0;
        bool last = c == table->column_count - 1;
        enum terminal_colour colour = head ? TERMINAL_BOLD : column->colour;
        fprintf(terminal->out, "%*s%s%s%s%*s", column->number ? padding : 0, "",
                colour != TERMINAL_PLAIN ? terminal_paint(terminal, colour) : "", cells[c],
                colour != TERMINAL_PLAIN ? terminal_paint(terminal, TERMINAL_PLAIN) : "",
                last ? 0 : table->gap + (column->number ? 0 : padding), "");
    }
    fputc('\n', terminal->out);
}

/* Cuts the last column at a character, with a mark. On a very narrow terminal lines may wrap rather
 * than lose the text altogether; a stream that is no terminal has width 0. */
static void cut_last(const struct terminal *terminal, const struct terminal_table *table,
                     const int *width, char *cell)
{
    int room = terminal->width - table->indent;
    for (int c = 0; c < table->column_count - 1; c++)
        room -= width[c] + table->gap;
    if (room <= CUT_MIN || escape_columns(cell) <= (size_t)room)
        return;
    char *end = cell;
    for (int shown = 0; shown < room - 1; shown++) {
        end++;
        while (((unsigned char)*end & 0xc0) == 0x80)
            end++;
    }
    memcpy(end, "~", 2);
}

bool terminal_table(const struct terminal *terminal, const struct terminal_table *table)
{
    size_t columns = (size_t)table->column_count;
    size_t count = columns * ((size_t)table->row_count + 1);
    char **safe = calloc(count + 1, sizeof *safe);
    int *width = calloc(columns + 1, sizeof *width);
    bool good = safe != NULL && width != NULL;
    for (size_t i = 0; i < count && good; i++) {
        safe[i] = escape_copy(ESCAPE_TERMINAL,
                              i < columns ? table->columns[i].head : table->cells[i - columns]);
        good = safe[i] != NULL;
        if (!good || (i < columns && table->headless))
            continue;
        int wanted = (int)escape_columns(safe[i]);
        if (width[i % columns] < wanted)
            width[i % columns] = wanted;
    }
    for (size_t c = 0; c < columns && good; c++)
        if (width[c] < table->columns[c].width)
            width[c] = table->columns[c].width;
    for (size_t i = table->headless ? columns : 0; i < count && good; i += columns) {
        if (table->cut)
            cut_last(terminal, table, width, safe[i + columns - 1]);
        print_row(terminal, table, safe + i, width, i == 0);
        if (i > 0 && table->below != NULL)
            table->below(terminal, table->context, (int)(i / columns) - 1);
    }
    for (size_t i = 0; i < count && safe != NULL; i++)
        free(safe[i]);
    free(safe);
    free(width);
    return good;
}

/* --- page terminal --------------------------------------------------------------------------- */

/* A page on a terminal. */

#define FACT_LABEL_MAX 32

static enum terminal_colour colour_of(enum page_tone tone)
{
    static const enum terminal_colour COLOURS[] = {
        [PAGE_OK] = TERMINAL_GREEN,     [PAGE_WARNING] = TERMINAL_YELLOW,
        [PAGE_CRITICAL] = TERMINAL_RED, [PAGE_UNKNOWN] = TERMINAL_BOLD,
        [PAGE_PLAIN] = TERMINAL_PLAIN,
    };
    return COLOURS[tone];
}

static void put_bold(const struct terminal *terminal, const char *text)
{
    fprintf(terminal->out, "\n%s", terminal_paint(terminal, TERMINAL_BOLD));
    escape_put(ESCAPE_TERMINAL, text, terminal->out);
    fprintf(terminal->out, "%s\n", terminal_paint(terminal, TERMINAL_PLAIN));
}

static void put_facts(const struct terminal *terminal, const struct page_fact *facts, int indent)
{
    int width = 0;
    for (const struct page_fact *fact = facts; fact != NULL; fact = fact->next) {
        int columns = (int)escape_columns(fact->name) + 3;
        width = columns > width ? columns : width;
    }
    for (const struct page_fact *fact = facts; fact != NULL; fact = fact->next)
        terminal_labelled(terminal, indent, fact->name,
                          width < FACT_LABEL_MAX ? width : FACT_LABEL_MAX, fact->value);
}

static void put_row_facts(const struct terminal *terminal, const void *context, int number)
{
    const struct page_row *row = ((const struct page_block *)context)->rows;
    while (number-- > 0)
        row = row->next;
    put_facts(terminal, row->facts, 4);
}

static bool put_table(const struct terminal *terminal, const struct page_block *block)
{
    struct terminal_column columns[PAGE_COLUMNS_MAX] = {0};
    size_t count = (size_t)block->row_count * (size_t)block->column_count;
    const char **cells = calloc(count + 1, sizeof *cells), **at = cells;
    if (cells == NULL)
        return false;
    for (int c = 0; c < block->column_count; c++) {
        columns[c].head = page_head_text(block->heads[c]);
        columns[c].number = page_is_number(block->heads[c]);
    }
    for (const struct page_row *row = block->rows; row != NULL; row = row->next)
        for (int c = 0; c < block->column_count; c++)
            *at++ = row->cells[c].text;
    bool good =
        terminal_table(terminal, &(struct terminal_table){.indent = 2,
                                                          .gap = 2,
                                                          .column_count = block->column_count,
                                                          .columns = columns,
                                                          .row_count = block->row_count,
                                                          .cells = cells,
                                                          .below = put_row_facts,
                                                          .context = block});
    free(cells);
    return good;
}

static void put_finding(const struct terminal *terminal, const struct page_block *block)
{
    const struct finding *finding = block->finding;
    terminal_finding_name(terminal, severity_name(finding->severity),
                          terminal_severity_colour(finding->severity), finding);
    if (block->when != NULL) {
        fputs(", ", terminal->out);
        escape_put(ESCAPE_TERMINAL, block->when, terminal->out);
    }
    fputc('\n', terminal->out);
    if (block->about != NULL)
        terminal_wrapped(terminal, 2, block->about);
    if (!block->in_title)
        terminal_wrapped(terminal, 2, finding->title);
    terminal_finding_details(terminal, finding);
}

static bool put_block(const struct terminal *terminal, const struct page_block *block)
{
    switch (block->kind) {
    case PAGE_HEADING:
    case PAGE_DETAILS:
        put_bold(terminal, block->text);
        break;
    case PAGE_TEXT:
        terminal_wrapped(terminal, 2, block->text);
        break;
    case PAGE_CODE:
        fputs("    ", terminal->out);
        escape_put(ESCAPE_TERMINAL, block->text, terminal->out);
        fputc('\n', terminal->out);
        break;
    case PAGE_FINDING:
        put_finding(terminal, block);
        break;
    case PAGE_FACTS:
        put_facts(terminal, block->facts, 2);
        break;
    case PAGE_TABLE:
        return put_table(terminal, block);
    case PAGE_CHART:
        if (block->file != NULL)
            terminal_labelled(terminal, 2, block->text, 0, block->file);
        break;
    case PAGE_DETAILS_END:
        break;
    }
    return true;
}

bool page_terminal(const struct page *page, const struct terminal *terminal)
{
    bool good = !page->failed;
    if (!good)
        return false;
    if (page->title[0] != '\0') {
        fprintf(terminal->out, "%s%s%s: ", terminal_paint(terminal, colour_of(page->tone)),
                page->status, terminal_paint(terminal, TERMINAL_PLAIN));
        escape_put(ESCAPE_TERMINAL, page->title, terminal->out);
        fputc('\n', terminal->out);
    }
    if (page->lead != NULL)
        terminal_wrapped(terminal, 2, page->lead);
    if (page->origin != NULL)
        terminal_wrapped(terminal, 2, page->origin);
    for (const struct page_block *block = page->blocks; block != NULL; block = block->next)
        good = put_block(terminal, block) && good;
    if (page->footer != NULL) {
        fputc('\n', terminal->out);
        terminal_wrapped(terminal, 0, page->footer);
    }
    return good && !ferror(terminal->out);
}

bool page_print(struct page *page, FILE *out)
{
    const struct terminal terminal = {.out = out};
    bool good = page_terminal(page, &terminal);
    page_free(page);
    return good;
}
