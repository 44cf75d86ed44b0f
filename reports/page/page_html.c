/* A page as one file of HTML: no script, nothing from elsewhere, light and dark, readable on a
 * telephone and on paper. */
#include "reports/page/terminal.h"
#include "reports/page/page.h"
#include "reports/text/embedded.h"
#include "reports/text/escape.h"

#include <string.h>

EMBED_FILE(page_css, "reports/page/page.css")

/* PAGE_STYLE_HASHES, PAGE_SCRIPT_HASHES: the Makefile computes them from the files. */
const char page_csp[] = "default-src 'none'; style-src" PAGE_STYLE_HASHES
                        "; script-src" PAGE_SCRIPT_HASHES "; base-uri 'none'; form-action 'none'";

static const char *const CLASSES[] = {
    [PAGE_OK] = "ok",           [PAGE_WARNING] = "warning", [PAGE_CRITICAL] = "critical",
    [PAGE_UNKNOWN] = "unknown", [PAGE_PLAIN] = "",
};

/* Markup of ours, a text of anybody, markup of ours. */
static void put(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    escape_put(ESCAPE_HTML, text, out);
    fputs(after, out);
}

/* " id="..."", when the block has one. */
static void put_anchor(FILE *out, const struct page_block *block)
{
    if (block->anchor != NULL)
        put(out, " id=\"", block->anchor, "\"");
}

static void put_link(FILE *out, const char *address, const char *text)
{
    put(out, "<a href=\"", address, "\">");
    put(out, "", text, "</a>");
}

static void put_fact(FILE *out, const char *name, const char *value)
{
    put(out, "<div><dt>", name, "</dt>");
    put(out, "<dd>", value, "</dd></div>\n");
}

static void put_facts(FILE *out, const struct page_fact *facts)
{
    for (const struct page_fact *fact = facts; fact != NULL; fact = fact->next)
        put_fact(out, fact->name, fact->value);
}

/* --- findings --------------------------------------------------------------------------------- */

static void put_runbook(FILE *out, const struct page *page, const struct finding_row *row)
{
    fputs("<div><dt>runbook</dt><dd>", out);
    if (page->runbooks != NULL) {
        put(out, "<a href=\"", page->runbooks, "");
        fprintf(out, "/%s.md\">%s</a>", row->runbook, row->runbook);
    } else {
        fprintf(out, "<code>nmtwatch explain %s</code>", row->id);
    }
    fputs("</dd></div>\n", out);
}

static void put_finding(FILE *out, const struct page *page, const struct page_block *block)
{
    const struct finding *finding = block->finding;
    fprintf(out, "<article class=\"alert %s\"", CLASSES[block->tone]);
    put_anchor(out, block);
    fputs(">\n<h3>", out);
    if (block->number > 0)
        fprintf(out, "<span class=\"num\">%d</span> ", block->number);
    if (block->about != NULL) {
        if (block->about_link != NULL)
            put_link(out, block->about_link, block->about);
        else
            put(out, "", block->about, "");
        fputs(": ", out);
    }
    put(out, "", finding->title, "</h3>\n");
    fprintf(out, "<p class=\"when\"><span class=\"badge\">%s</span> <code>%s</code>",
            severity_name(finding->severity), finding_row(finding->kind)->id);
    if (finding->family[0] != '\0')
        put(out, " ", finding->family, "");
    if (block->when != NULL)
        put(out, ", ", block->when, "");
    fputs("</p>\n", out);
    if (finding->advice[0] != '\0')
        put(out, "<p class=\"advice\">", finding->advice, "</p>\n");
    fputs("<dl class=\"evidence\">\n", out);
    for (int i = 0; i < finding->evidence_count; i++) {
        struct evidence_text text = evidence_text(&finding->evidence[i]);
        put_fact(out, text.label, text.value);
    }
    put_runbook(out, page, finding_row(finding->kind));
    fputs("</dl>\n</article>\n", out);
}

/* --- charts ----------------------------------------------------------------------------------- */

/* Two pictures in one page must not share ids, and the tool tips that gnuplot names after its plots
 * say nothing. */
static void put_svg(FILE *out, const char *svg, int number, const char *title)
{
    static const char *const references[] = {"id='", "id=\"", "href='#", "href=\"#", "url(#"};
    const char *at = strstr(svg, "<svg");
    if (at == NULL)
        return;
    fputs("<svg", out);
    if (title != NULL)
        put(out, " role=\"img\" aria-label=\"", title, "\"");
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

static void put_chart(FILE *out, const struct page_block *block, int number)
{
    if (block->svg == NULL)
        return;
    fputs("<figure>\n<div class=\"scroll\">", out);
    put_svg(out, block->svg, number, block->text);
    fputs("</div>\n", out);
    if (block->caption != NULL)
        put(out, "<figcaption>", block->caption, "</figcaption>\n");
    fputs("</figure>\n", out);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void put_cell(FILE *out, const struct page_cell *cell, bool number)
{
    if (cell->link != NULL)
        put_link(out, cell->link, cell->text);
    else if (number && cell->text[0] == '\0')
        fputs("–", out);
    else
        put(out, "", cell->text, "");
    if (cell->chart != NULL)
        fputs(cell->chart, out);
    if (cell->note == NULL)
        return;
    fprintf(out, cell->note_tone != PAGE_PLAIN ? "<small class=\"%s\">" : "<small>",
            CLASSES[cell->note_tone]);
    put(out, "", cell->note, "</small>");
}

static void put_row(FILE *out, const struct page_block *block, const struct page_row *row)
{
    fprintf(out, "<tr class=\"%s%s\">", row->facts != NULL ? "head " : "", CLASSES[row->tone]);
    for (int c = 0; c < block->column_count; c++) {
        bool number = page_is_number(block->heads[c]);
        fputs(number ? "<td class=\"n\">" : "<td>", out);
        if (c == 0 && row->tone != PAGE_PLAIN)
            fputs("<span class=\"dot\"></span>", out);
        put_cell(out, &row->cells[c], number);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
    if (row->facts == NULL)
        return;
    fprintf(out, "<tr class=\"detail\"><td colspan=\"%d\"><dl>\n", block->column_count);
    put_facts(out, row->facts);
    fputs("</dl></td></tr>\n", out);
}

static void put_table(FILE *out, const struct page_block *block)
{
    fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
    for (int c = 0; c < block->column_count; c++)
        put(out, page_is_number(block->heads[c]) ? "<th class=\"n\">" : "<th>",
            page_head_text(block->heads[c]), "</th>");
    fputs("</tr></thead>\n<tbody>\n", out);
    for (const struct page_row *row = block->rows; row != NULL; row = row->next)
        put_row(out, block, row);
    fputs("</tbody></table></div>\n", out);
}

/* --- the whole -------------------------------------------------------------------------------- */

void page_html_head(FILE *out, const char *name, int refresh_s, const char *style)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"",
          out);
    fprintf(out, "%s\">\n", page_csp);
    if (refresh_s > 0)
        fprintf(out, "<meta http-equiv=\"refresh\" content=\"%d\">\n", refresh_s);
    put(out, "<title>", name, "</title>\n");
    fprintf(out, "<style>%s</style>\n", page_css_begin);
    if (style != NULL)
        fprintf(out, "<style>%s</style>\n", style);
    fputs("</head>\n<body>\n", out);
}

static void put_header(FILE *out, const struct page *page)
{
    page_html_head(out, page->name != NULL ? page->name : page->title, page->refresh_s, NULL);
    fprintf(out, "<main>\n<header class=\"%s\">\n", CLASSES[page->tone]);
    put(out, "<p class=\"badge\">", page->status, "</p>\n");
    put(out, "<h1>", page->title, "</h1>\n");
    if (page->lead != NULL)
        put(out, "<p class=\"advice\">", page->lead, "</p>\n");
    if (page->origin != NULL)
        put(out, "<p class=\"who\">", page->origin, "</p>\n");
    if (page->links != NULL)
        fputs("<nav>", out);
    for (const struct page_fact *link = page->links; link != NULL; link = link->next)
        put_link(out, link->value, link->name);
    fputs(page->links != NULL ? "</nav>\n</header>\n" : "</header>\n", out);
}

static void put_block(FILE *out, const struct page *page, const struct page_block *block, int chart)
{
    switch (block->kind) {
    case PAGE_HEADING:
        fputs("<h2", out);
        put_anchor(out, block);
        put(out, ">", block->text, "</h2>\n");
        break;
    case PAGE_TEXT:
        if (block->tone != PAGE_PLAIN)
            fprintf(out, "<p class=\"box %s\">", CLASSES[block->tone]);
        else
            fputs("<p>", out);
        put(out, "", block->text, "</p>\n");
        break;
    case PAGE_CODE:
        put(out, "<pre><code>", block->text, "</code></pre>\n");
        break;
    case PAGE_FINDING:
        put_finding(out, page, block);
        break;
    case PAGE_FACTS:
        fputs("<dl class=\"facts\">\n", out);
        put_facts(out, block->facts);
        fputs("</dl>\n", out);
        break;
    case PAGE_TABLE:
        put_table(out, block);
        break;
    case PAGE_CHART:
        put_chart(out, block, chart);
        break;
    case PAGE_DETAILS:
        fprintf(out, "<details class=\"%s\"%s", CLASSES[block->tone], block->open ? " open" : "");
        put_anchor(out, block);
        fputs(block->tone != PAGE_PLAIN ? "><summary><span class=\"dot\"></span>" : "><summary>",
              out);
        put(out, "", block->text, "</summary>\n");
        break;
    case PAGE_DETAILS_END:
        fputs("</details>\n", out);
        break;
    }
}

bool page_html(const struct page *page, FILE *out)
{
    int charts = 0;
    if (page->failed)
        return false;
    put_header(out, page);
    for (const struct page_block *block = page->blocks; block != NULL; block = block->next)
        put_block(out, page, block, charts += block->kind == PAGE_CHART);
    if (page->footer != NULL)
        put(out, "<footer>", page->footer, "</footer>\n");
    fputs("</main>\n</body>\n</html>\n", out);
    return !ferror(out);
}
