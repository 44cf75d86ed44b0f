/* A page on a terminal, in Markdown and as HTML. */
#include "reports/escape.h"
#include "reports/evidence.h"
#include "reports/html_style.h"
#include "reports/page.h"

#include <string.h>

#define CELL_MAX 4096

/* --- terminal -------------------------------------------------------------------------------- */

static bool is_number(const char *head)
{
    return head[0] == '#';
}

static void terminal_table(const struct page_block *block, FILE *out)
{
    size_t width[PAGE_COLUMNS_MAX];
    char text[CELL_MAX];
    for (int c = 0; c < block->column_count; c++) {
        width[c] = strlen(block->heads[c] + is_number(block->heads[c]));
        for (int r = 0; r < block->row_count; r++) {
            escape(ESCAPE_TERMINAL, block->rows[r].cell[c], text, sizeof text);
            size_t columns = escape_columns(text);
            width[c] = columns > width[c] ? columns : width[c];
        }
    }
    for (int r = -1; r < block->row_count; r++) {
        for (int c = 0; c < block->column_count; c++) {
            bool number = is_number(block->heads[c]);
            const char *cell = r < 0 ? block->heads[c] + number : block->rows[r].cell[c];
            escape(ESCAPE_TERMINAL, cell, text, sizeof text);
            int pad = (int)(width[c] - escape_columns(text));
            bool last = c == block->column_count - 1;
            if (number)
                fprintf(out, "  %*s%s", pad, "", text);
            else
                fprintf(out, "  %s%*s", text, last ? 0 : pad, "");
        }
        fputc('\n', out);
    }
}

bool page_terminal(const struct page *page, const struct terminal *terminal)
{
    static const char *const colours[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m"};
    FILE *out = terminal->out;
    if (page->failed)
        return false;
    fprintf(out, "%s%s%s: %s\n", terminal->colour ? colours[page->severity] : "", page->status,
            terminal->colour ? "\x1b[0m" : "", escape_name(page->title).text);
    for (int i = 0; i < page->block_count; i++) {
        const struct page_block *block = &page->blocks[i];
        switch (block->kind) {
        case PAGE_HEADING:
            fprintf(out, "\n%s%s%s\n", terminal->colour ? "\x1b[1m" : "",
                    escape_name(block->text).text, terminal->colour ? "\x1b[0m" : "");
            break;
        case PAGE_TEXT:
            terminal_wrapped(terminal, 2, block->text);
            break;
        case PAGE_FINDING:
            terminal_finding(terminal, block->finding);
            break;
        case PAGE_TABLE:
            terminal_table(block, out);
            break;
        }
    }
    return !ferror(out);
}

/* --- Markdown -------------------------------------------------------------------------------- */

static void put_markdown(FILE *out, const char *text)
{
    char escaped[CELL_MAX];
    escape(ESCAPE_MARKDOWN, text, escaped, sizeof escaped);
    fputs(escaped, out);
}

static void markdown_finding(const struct finding *finding, FILE *out)
{
    fprintf(out, "### %s: ", severity_name(finding->severity));
    put_markdown(out, finding->title);
    fputs("\n\n**What to do:** ", out);
    put_markdown(out, finding->advice);
    fprintf(out, "\n\nRunbook: docs/runbooks/%s.md, finding `%s`\n\n| figure | value |\n|--|--|\n",
            finding_row(finding->kind)->runbook, finding_row(finding->kind)->id);
    for (int i = 0; i < finding->evidence_count; i++) {
        struct evidence_text text = evidence_text(&finding->evidence[i]);
        fputs("| ", out);
        put_markdown(out, text.label);
        fputs(" | ", out);
        put_markdown(out, text.value);
        fputs(" |\n", out);
    }
    fputs("\n", out);
}

static void markdown_table(const struct page_block *block, FILE *out)
{
    for (int r = -2; r < block->row_count; r++) {
        for (int c = 0; c < block->column_count; c++) {
            bool number = is_number(block->heads[c]);
            fputs("| ", out);
            if (r == -2)
                put_markdown(out, block->heads[c] + number);
            else if (r == -1)
                fputs(number ? "--:" : "--", out);
            else
                put_markdown(out, block->rows[r].cell[c]);
            fputc(' ', out);
        }
        fputs("|\n", out);
    }
    fputs("\n", out);
}

bool page_markdown(const struct page *page, FILE *out)
{
    if (page->failed)
        return false;
    fprintf(out, "# %s: ", page->status);
    put_markdown(out, page->title);
    fputs("\n\n", out);
    for (int i = 0; i < page->block_count; i++) {
        const struct page_block *block = &page->blocks[i];
        switch (block->kind) {
        case PAGE_HEADING:
            fputs("## ", out);
            put_markdown(out, block->text);
            fputs("\n\n", out);
            break;
        case PAGE_TEXT:
            put_markdown(out, block->text);
            fputs("\n\n", out);
            break;
        case PAGE_FINDING:
            markdown_finding(block->finding, out);
            break;
        case PAGE_TABLE:
            markdown_table(block, out);
            break;
        }
    }
    return !ferror(out);
}

/* --- HTML ------------------------------------------------------------------------------------ */

static void put_html(FILE *out, const char *text)
{
    char escaped[2 * CELL_MAX];
    escape(ESCAPE_HTML, text, escaped, sizeof escaped);
    fputs(escaped, out);
}

static void put_html_element(FILE *out, const char *open, const char *text, const char *close)
{
    fputs(open, out);
    put_html(out, text);
    fputs(close, out);
}

static void html_finding(const struct finding *finding, FILE *out)
{
    static const char *const classes[] = {"ok", "warning", "critical"};
    fprintf(out, "<article class=\"alert %s\">\n", classes[finding->severity]);
    put_html_element(out, "<h3>", finding->title, "</h3>\n");
    fprintf(out, "<p class=\"when\">%s <code>%s</code></p>\n", severity_name(finding->severity),
            finding_row(finding->kind)->id);
    put_html_element(out, "<p class=\"advice\">", finding->advice,
                     "</p>\n<dl class=\"evidence\">\n");
    for (int i = 0; i < finding->evidence_count; i++) {
        struct evidence_text text = evidence_text(&finding->evidence[i]);
        put_html_element(out, "<div><dt>", text.label, "</dt>");
        put_html_element(out, "<dd>", text.value, "</dd></div>\n");
    }
    fprintf(out, "<div><dt>runbook</dt><dd>docs/runbooks/%s.md</dd></div>\n</dl>\n</article>\n",
            finding_row(finding->kind)->runbook);
}

static void html_table(const struct page_block *block, FILE *out)
{
    fputs("<div class=\"scroll\"><table>\n", out);
    for (int r = -1; r < block->row_count; r++) {
        fputs(r < 0 ? "<thead><tr>" : "<tr>", out);
        for (int c = 0; c < block->column_count; c++) {
            bool number = is_number(block->heads[c]);
            const char *tag = r < 0 ? "th" : "td";
            fprintf(out, "<%s%s>", tag, number ? " class=\"n\"" : "");
            put_html(out, r < 0 ? block->heads[c] + number : block->rows[r].cell[c]);
            fprintf(out, "</%s>", tag);
        }
        fputs(r < 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

bool page_html(const struct page *page, FILE *out)
{
    static const char *const classes[] = {"ok", "warning", "critical"};
    if (page->failed)
        return false;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n",
          out);
    put_html_element(out, "<title>", page->title, "</title>\n");
    fprintf(out, "<style>%s</style></head>\n<body><main>\n<header class=\"%s\">\n", HTML_STYLE,
            classes[page->severity]);
    put_html_element(out, "<p class=\"badge\">", page->status, "</p>\n");
    put_html_element(out, "<h1>", page->title, "</h1>\n</header>\n");
    for (int i = 0; i < page->block_count; i++) {
        const struct page_block *block = &page->blocks[i];
        switch (block->kind) {
        case PAGE_HEADING:
            put_html_element(out, "<h2>", block->text, "</h2>\n");
            break;
        case PAGE_TEXT:
            put_html_element(out, "<p>", block->text, "</p>\n");
            break;
        case PAGE_FINDING:
            html_finding(block->finding, out);
            break;
        case PAGE_TABLE:
            html_table(block, out);
            break;
        }
    }
    fputs("</main></body></html>\n", out);
    return !ferror(out);
}
