/* A page on a terminal. */
#include "reports/page/page.h"
#include "reports/text/escape.h"

#include <stdlib.h>

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
    for (const struct page_row *row = block->rows; row != NULL; row = row->next) {
        for (int c = 0; c < block->column_count; c++)
            *at++ = row->cells[c].text;
    }
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
