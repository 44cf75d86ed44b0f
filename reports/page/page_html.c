/* A page as one file of HTML: no script, nothing from elsewhere, light and dark, readable on a
 * telephone, on paper and aloud. Links lead to places in the file: a finding to what shows it and to its
 * runbook, whose text stands at the end. */
#include "reports/page/terminal.h"
#include "reports/page/page.h"
#include "reports/page/runbooks.h"
#include "reports/text/embedded.h"
#include "reports/text/escape.h"

#include <stdlib.h>

EMBED_FILE(page_css, "reports/page/page.css")

/* PAGE_STYLE_HASHES, PAGE_SCRIPT_HASHES: the Makefile computes them from the files. */
const char page_csp[] = "default-src 'none'; style-src" PAGE_STYLE_HASHES
                        "; script-src" PAGE_SCRIPT_HASHES "; base-uri 'none'; form-action 'none'";

static const char *const CLASSES[] = {
    [PAGE_OK] = "ok",           [PAGE_WARNING] = "warning", [PAGE_CRITICAL] = "critical",
    [PAGE_UNKNOWN] = "unknown", [PAGE_PLAIN] = "",
};

/* Our markup, an untrusted text, our markup. */
static void put(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    escape_put(ESCAPE_HTML, text, out);
    fputs(after, out);
}

static void put_link(FILE *out, const char *address, const char *text)
{
    put(out, "<a href=\"", address, "\">");
    put(out, "", text, "</a>");
}

/* A sentence; what stands between two ` is code. */
static void put_words(FILE *out, const char *text)
{
    const char *begin, *end;
    while ((begin = strchr(text, '`')) != NULL && (end = strchr(begin + 1, '`')) != NULL) {
        char *plain = strndup(text, (size_t)(begin - text));
        char *code = strndup(begin + 1, (size_t)(end - begin) - 1);
        put(out, "", plain != NULL ? plain : "", "<code>");
        put(out, "", code != NULL ? code : "", "</code>");
        free(plain);
        free(code);
        text = end + 1;
    }
    put(out, "", text, "");
}

static void put_fact(FILE *out, const char *name, const char *value)
{
    put(out, "<div><dt>", name, "</dt><dd>");
    put_words(out, value);
    fputs("</dd></div>\n", out);
}

/* A long value takes the room of two. */
static void put_figure(FILE *out, const char *name, const char *value)
{
    fputs(escape_columns(value) > 24 ? "<div class=\"long\">" : "<div>", out);
    put(out, "<dt>", name, "</dt>");
    put(out, "<dd>", value, "</dd></div>\n");
}

static void put_facts(FILE *out, const struct page_fact *facts)
{
    for (const struct page_fact *fact = facts; fact != NULL; fact = fact->next)
        put_fact(out, fact->name, fact->value);
}

/* --- places in the file -------------------------------------------------------------------------- */

/* A file under way. */
struct html {
    FILE *out;
    const struct page *const *pages;
    int count;
    int number; /* of the page that is written, from 0 */
    int charts; /* written so far */
};

static const struct page *page_of(const struct html *html)
{
    return html->pages[html->number];
}

/* The id of a block that has no anchor: its text in small letters, and which it is of those with the same
 * text. That of a row has its number. */
static void put_id(const struct html *html, const struct page_block *block, int row)
{
    int same = 1;
    bool gap = false;
    if (html->number > 0)
        fprintf(html->out, "p%d-", html->number + 1);
    if (block->anchor != NULL && row < 0) {
        put(html->out, "", block->anchor, "");
        return;
    }
    if (block->text == NULL) { /* a table */
        int number = 0;
        for (const struct page_block *at = page_of(html)->blocks; at != block; at = at->next)
            number += at->kind == block->kind;
        fprintf(html->out, "table-%d", number + 1);
    } else {
        for (const struct page_block *at = page_of(html)->blocks; at != block; at = at->next)
            same += at->kind == block->kind && strcmp(at->text, block->text) == 0;
        fputs(block->kind == PAGE_CHART ? "chart-" : "about-", html->out);
        for (const char *at = block->text; *at != '\0'; at++) {
            if (is_letter(*at)) {
                fputs(gap ? "-" : "", html->out);
                fputc(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at, html->out);
            }
            gap = !is_letter(*at);
        }
    }
    if (same > 1)
        fprintf(html->out, "-%d", same);
    if (row >= 0)
        fprintf(html->out, "-row-%d", row + 1);
}

static void put_anchor(const struct html *html, const struct page_block *block, int row)
{
    fputs(" id=\"", html->out);
    put_id(html, block, row);
    fputs("\"", html->out);
}

static void put_link_to(const struct html *html, const struct page_block *block, int row)
{
    fputs("<a href=\"#", html->out);
    put_id(html, block, row);
    fputs("\">", html->out);
}

/* --- what shows a finding ------------------------------------------------------------------------- */

static unsigned subjects_of(enum finding_kind kind)
{
    enum {
        LOADED = PAGE_ABOUT_CLASSES,
        LOADERS = PAGE_ABOUT_LOADERS,
        METHODS = PAGE_ABOUT_METHODS,
        INTERNAL = PAGE_ABOUT_INTERNAL,
        NMT = PAGE_ABOUT_NMT,
        RSS = PAGE_ABOUT_RSS,
        HEAP = PAGE_ABOUT_HEAP,
        AGENT = PAGE_ABOUT_AGENT,
    };
    static const unsigned SUBJECTS[FINDING_KIND_COUNT] = {
        [FINDING_CLASS_EXPLOSION] = LOADED,
        [FINDING_CLASS_CHURN] = LOADED,
        [FINDING_CLASS_LOAD_RATE] = LOADED,
        [FINDING_LOADER_GROWTH] = LOADERS,
        [FINDING_CLASS_METASPACE_GROWTH] = LOADED | NMT,
        [FINDING_MANY_METHODS] = METHODS,
        [FINDING_METASPACE_LIMIT] = LOADED | NMT,
        [FINDING_INTERNAL_INVESTIGATE] = INTERNAL | LOADED,
        [FINDING_INTERNAL_EXPLOSION] = INTERNAL | LOADED,
        [FINDING_INTERNAL_UNACCEPTABLE] = INTERNAL | LOADED,
        [FINDING_INTERNAL_NOT_CONVERGING] = INTERNAL | LOADED,
        [FINDING_HEAP_CLASS_GROWTH] = HEAP,
        [FINDING_AGENT_SHEDDING] = AGENT,
        [FINDING_AGENT_RETAINS] = AGENT,
        [FINDING_AGENT_PREALLOCATES] = AGENT,
        [FINDING_JAVA_HEAP_GROWTH] = HEAP | RSS,
        [FINDING_OUTSIDE_NMT] = RSS,
        [FINDING_SHARED_MEMORY_GROWTH] = RSS,
        [FINDING_MAPPED_FILE_GROWTH] = RSS,
        [FINDING_MALLOC_RETAINED] = RSS,
        [FINDING_REDEPLOY_LEAK] = LOADERS,
        [FINDING_LOADERS_HELD] = LOADERS,
        [FINDING_DIRECT_MEMORY] = NMT | RSS,
        [FINDING_THREAD_GROWTH] = NMT,
        [FINDING_SYMBOL_GROWTH] = NMT | LOADED,
        [FINDING_CATEGORY_GROWTH] = NMT,
        [FINDING_NATIVE_OOM] = NMT,
        [FINDING_OWN_EFFECT] = NMT,
        [FINDING_NMT_LARGEST] = NMT,
        [FINDING_OOM_KILLED] = NMT | RSS,
        [FINDING_CONTAINER_LIMIT] = NMT | RSS,
        [FINDING_MALLOC_ARENAS] = RSS,
        [FINDING_HEAP_OBJECTS] = HEAP,
        [FINDING_HEAP_GROWTH] = HEAP,
    };
    return SUBJECTS[kind];
}

/* Whether a row begins with what the finding is about: its family, category, class or type of loader. */
static bool is_row_of(const struct finding *finding, const struct page_row *row)
{
    static const char *const NAMES[] = {"category", "class", "loader_type", "most_methods_family"};
    const char *name = row->cells[0].text;
    bool is = finding->family[0] != '\0' && strcmp(finding->family, name) == 0;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0] && !is; i++) {
        const struct evidence *evidence = finding_evidence(finding, NAMES[i]);
        is = evidence != NULL && strcmp(evidence->text, name) == 0;
    }
    return is;
}

static bool is_row_linked(const struct page *page, const struct page_row *row)
{
    for (const struct page_block *block = page->blocks; block != NULL; block = block->next)
        if (block->kind == PAGE_FINDING && is_row_of(block->finding, row))
            return true;
    return false;
}

/* The rows of the section below a heading; else the section, when it is about the finding. */
static const char *put_section(const struct html *html, const struct finding *finding,
                               const struct page_block *heading, const char *before)
{
    const struct page_block *block = heading->next;
    for (; block != NULL && block->kind != PAGE_HEADING; block = block->next) {
        const struct page_row *row = block->kind == PAGE_TABLE ? block->rows : NULL;
        int number = 0;
        for (; row != NULL && !is_row_of(finding, row); row = row->next)
            number++;
        if (row == NULL)
            continue;
        fputs(before, html->out);
        put_link_to(html, block, number);
        put(html->out, "", heading->text, ": ");
        put(html->out, "", row->cells[0].text, "</a>");
        return ", ";
    }
    if ((heading->subjects & subjects_of(finding->kind)) == 0)
        return before;
    fputs(before, html->out);
    put_link_to(html, heading, -1);
    put(html->out, "", heading->text, "</a>");
    return ", ";
}

static void put_shown_in(const struct html *html, const struct finding *finding)
{
    static const char *const BEGIN = "<div class=\"wide\"><dt>shown in</dt><dd>";
    const char *before = BEGIN;
    for (const struct page_block *at = page_of(html)->blocks; at != NULL; at = at->next) {
        if (at->kind == PAGE_HEADING) {
            before = put_section(html, finding, at, before);
        } else if (at->kind == PAGE_CHART && at->svg != NULL &&
                   (at->subjects & subjects_of(finding->kind)) != 0) {
            fputs(before, html->out);
            put_link_to(html, at, -1);
            put(html->out, "chart: ", at->text, "</a>");
            before = ", ";
        }
    }
    fputs(before != BEGIN ? "</dd></div>\n" : "", html->out);
}

/* --- runbooks ------------------------------------------------------------------------------------- */

/* The text of a finding's runbook; of its family, that of the family. */
struct runbook_part {
    const struct runbook *page;
    struct span family; /* empty: the whole page */
    const char *finding;
};

static void finding_runbooks(const struct finding *finding, struct runbook_part parts[2])
{
    const struct finding_row *row = finding_row(finding->kind);
    const struct runbook *families = runbook_find(RUNBOOK_FAMILIES);
    parts[0] = (struct runbook_part){.page = runbook_find(row->runbook), .finding = row->id};
    parts[1] = (struct runbook_part){.finding = finding->family};
    if (families == NULL || finding->family[0] == '\0')
        return;
    parts[1].family = runbook_section(families, finding->family);
    parts[1].page = parts[1].family.len > 0 ? families : NULL;
}

static bool is_same_part(const struct runbook_part *a, const struct runbook_part *b)
{
    return a->page == b->page && a->family.ptr == b->family.ptr;
}

#define RUNBOOK_PARTS_MAX 64

struct runbook_parts {
    int count;
    struct runbook_part part[RUNBOOK_PARTS_MAX];
};

/* Each of them once, in the order of the findings. */
static void collect_runbooks(const struct html *html, struct runbook_parts *parts)
{
    parts->count = 0;
    for (int p = 0; p < html->count; p++) {
        const struct page_block *block = html->pages[p]->blocks;
        for (; block != NULL; block = block->next) {
            struct runbook_part found[2];
            if (block->kind != PAGE_FINDING)
                continue;
            finding_runbooks(block->finding, found);
            for (int i = 0; i < 2; i++) {
                int at = 0;
                while (at < parts->count && !is_same_part(&parts->part[at], &found[i]))
                    at++;
                if (found[i].page != NULL && at == parts->count && at < RUNBOOK_PARTS_MAX)
                    parts->part[parts->count++] = found[i];
            }
        }
    }
}

static void put_part_id(FILE *out, const struct runbook_part *part)
{
    if (part->family.len > 0)
        put(out, "family-", part->finding, "");
    else
        fprintf(out, "runbook-%s", part->page->name);
}

static void put_part_name(FILE *out, const struct runbook_part *part)
{
    if (part->family.len > 0) {
        put(out, "family ", part->finding, "");
        return;
    }
    struct span title = runbook_title(part->page);
    fprintf(out, "%.*s", (int)title.len, title.ptr);
}

static void put_part_link(FILE *out, const struct runbook_part *part)
{
    fputs("<a href=\"#", out);
    put_part_id(out, part);
    fputs("\">", out);
    put_part_name(out, part);
    fputs("</a>", out);
}

static void put_runbook(const struct html *html, const struct finding *finding)
{
    struct runbook_part parts[2];
    const char *elsewhere = page_of(html)->runbooks;
    const struct finding_row *row = finding_row(finding->kind);
    finding_runbooks(finding, parts);
    fputs("<div class=\"wide\"><dt>runbook</dt><dd>", html->out);
    if (parts[0].page != NULL)
        put_part_link(html->out, &parts[0]);
    if (parts[1].page != NULL) {
        fputs(", ", html->out);
        put_part_link(html->out, &parts[1]);
    }
    if (elsewhere != NULL) {
        put(html->out, ", <a href=\"", elsewhere, "");
        fprintf(html->out, "/%s.md\">%s.md</a>", row->runbook, row->runbook);
    }
    fprintf(html->out, " (<code>nmtwatch explain %s</code>)</dd></div>\n", row->id);
}

/* Links between runbooks lead to the one in this file, else to the address of all of them. */
struct runbook_links {
    const struct runbook_parts *parts;
    const char *elsewhere; /* NULL */
};

static void link_runbook(const void *context, struct span target, char *out, size_t size)
{
    const struct runbook_links *links = context;
    for (int i = 0; i < links->parts->count; i++) {
        const struct runbook_part *part = &links->parts->part[i];
        char file[128];
        snprintf(file, sizeof file, "%s.md", part->page->name);
        if (part->family.len == 0 && span_equals(target, span_from_cstr(file))) {
            snprintf(out, size, "#runbook-%s", part->page->name);
            return;
        }
    }
    if (links->elsewhere != NULL && !span_starts_with(target, SPAN_LITERAL("../")))
        snprintf(out, size, "%s/%.*s", links->elsewhere, (int)target.len, target.ptr);
}

static void put_runbooks(const struct html *html, const struct runbook_parts *parts)
{
    const struct runbook_links links = {parts, html->pages[0]->runbooks};
    if (parts->count == 0)
        return;
    fputs("<h2 id=\"runbooks\">Runbooks</h2>\n", html->out);
    for (int i = 0; i < parts->count; i++) {
        const struct runbook_part *part = &parts->part[i];
        struct span text = part->family.len > 0 ? part->family : runbook_text(part->page), line;
        span_take_line(&text, &line); /* the heading, which is written here */
        fputs("<section class=\"runbook\">\n<h3 id=\"", html->out);
        put_part_id(html->out, part);
        fputs("\">", html->out);
        put_part_name(html->out, part);
        fputs("</h3>\n", html->out);
        /* In a page of families "##" is a family. */
        markdown_html(html->out, text, part->family.len > 0 ? 2 : 3, link_runbook, &links);
        fputs("</section>\n", html->out);
    }
}

/* --- findings --------------------------------------------------------------------------------- */

static void put_finding(const struct html *html, const struct page_block *block)
{
    FILE *out = html->out;
    const struct finding *finding = block->finding;
    fprintf(out, "<article class=\"alert %s\"", CLASSES[block->tone]);
    if (block->anchor != NULL)
        put_anchor(html, block, -1);
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
    if (finding->advice[0] != '\0') {
        fputs("<p class=\"advice\">", out);
        put_words(out, finding->advice);
        fputs("</p>\n", out);
    }
    fputs("<dl class=\"evidence\">\n", out);
    for (int i = 0; i < finding->evidence_count; i++) {
        struct evidence_text text = evidence_text(&finding->evidence[i]);
        put_figure(out, text.label, text.value);
    }
    put_shown_in(html, finding);
    put_runbook(html, finding);
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

static void put_chart(struct html *html, const struct page_block *block)
{
    FILE *out = html->out;
    if (block->svg == NULL)
        return;
    fputs("<figure", out);
    put_anchor(html, block, -1);
    fputs(">\n<div class=\"scroll\" tabindex=\"0\">", out);
    put_svg(out, block->svg, ++html->charts, block->text);
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

/* The colour of a dot says it to those who see it. */
static void put_dot(FILE *out, enum page_tone tone)
{
    if (tone != PAGE_PLAIN)
        fprintf(out, "<span class=\"dot\"></span><span class=\"aloud\">%s: </span>", CLASSES[tone]);
}

static void put_row(const struct html *html, const struct page_block *block,
                    const struct page_row *row, int number)
{
    FILE *out = html->out;
    fprintf(out, "<tr class=\"%s%s\"", row->facts != NULL ? "head " : "", CLASSES[row->tone]);
    if (is_row_linked(page_of(html), row))
        put_anchor(html, block, number);
    fputc('>', out);
    for (int c = 0; c < block->column_count; c++) {
        bool is_number = page_is_number(block->heads[c]), is_head = c == 0 && !is_number;
        fputs(is_head ? "<th scope=\"row\">" : is_number ? "<td class=\"n\">" : "<td>", out);
        if (c == 0)
            put_dot(out, row->tone);
        put_cell(out, &row->cells[c], is_number);
        fputs(is_head ? "</th>" : "</td>", out);
    }
    fputs("</tr>\n", out);
    if (row->facts == NULL)
        return;
    fprintf(out, "<tr class=\"detail\"><td colspan=\"%d\"><dl>\n", block->column_count);
    put_facts(out, row->facts);
    fputs("</dl></td></tr>\n", out);
}

static void put_table(const struct html *html, const struct page_block *block)
{
    FILE *out = html->out;
    int number = 0;
    fputs("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>", out);
    for (int c = 0; c < block->column_count; c++)
        put(out,
            page_is_number(block->heads[c]) ? "<th scope=\"col\" class=\"n\">"
                                            : "<th scope=\"col\">",
            page_head_text(block->heads[c]), "</th>");
    fputs("</tr></thead>\n<tbody>\n", out);
    for (const struct page_row *row = block->rows; row != NULL; row = row->next)
        put_row(html, block, row, number++);
    fputs("</tbody></table></div>\n", out);
}

/* --- the whole -------------------------------------------------------------------------------- */

void page_html_head(FILE *out, const char *name, const char *style)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"",
          out);
    fprintf(out, "%s\">\n", page_csp);
    put(out, "<title>", name, "</title>\n");
    fprintf(out, "<style>%s</style>\n", page_css_begin);
    if (style != NULL)
        fprintf(out, "<style>%s</style>\n", style);
    fputs("</head>\n<body>\n", out);
}

static void put_header(const struct html *html)
{
    FILE *out = html->out;
    const struct page *page = page_of(html);
    fprintf(out, "<header class=\"%s\"", CLASSES[page->tone]);
    if (html->count > 1)
        fprintf(out, " id=\"page-%d\"", html->number + 1);
    put(out, ">\n<p class=\"badge\">", page->status, "</p>\n");
    put(out, "<h1>", page->title, "</h1>\n");
    if (page->lead != NULL) {
        fputs("<p class=\"advice\">", out);
        put_words(out, page->lead);
        fputs("</p>\n", out);
    }
    if (page->origin != NULL)
        put(out, "<p class=\"who\">", page->origin, "</p>\n");
    if (page->links != NULL)
        fputs("<nav aria-label=\"More\">", out);
    for (const struct page_fact *link = page->links; link != NULL; link = link->next)
        put_link(out, link->value, link->name);
    fputs(page->links != NULL ? "</nav>\n</header>\n" : "</header>\n", out);
}

#define LONG_PAGE 4 /* sections */

/* The pages of a file; where there is one, its sections. A page without a title is sections only. */
static void put_contents(struct html *html, const struct runbook_parts *parts)
{
    FILE *out = html->out;
    int titles = 0, sections = parts->count > 0;
    for (int i = 0; i < html->count; i++) {
        titles += html->pages[i]->title[0] != '\0';
        for (const struct page_block *at = html->pages[i]->blocks; at != NULL; at = at->next)
            sections += at->kind == PAGE_HEADING;
    }
    if (titles < 2 && sections < LONG_PAGE)
        return;
    fputs("<nav class=\"contents\" aria-label=\"Contents\">\n<ul>\n", out);
    for (html->number = 0; html->number < html->count; html->number++) {
        const struct page *page = page_of(html);
        if (titles > 1 && page->title[0] != '\0') {
            fprintf(out, "<li><a href=\"#page-%d\">", html->number + 1);
            put(out, "", page->title, "</a></li>\n");
            continue;
        }
        for (const struct page_block *block = page->blocks; block != NULL; block = block->next) {
            if (block->kind != PAGE_HEADING)
                continue;
            fputs("<li>", out);
            put_link_to(html, block, -1);
            put(out, "", block->text, "</a></li>\n");
        }
    }
    html->number = 0;
    fputs(parts->count > 0 ? "<li><a href=\"#runbooks\">Runbooks</a>:" : "", out);
    for (int i = 0; i < parts->count; i++) {
        fputs(i > 0 ? ", " : " ", out);
        put_part_link(out, &parts->part[i]);
    }
    fputs(parts->count > 0 ? "</li>\n</ul>\n</nav>\n" : "</ul>\n</nav>\n", out);
}

static void put_block(struct html *html, const struct page_block *block)
{
    FILE *out = html->out;
    switch (block->kind) {
    case PAGE_HEADING:
        fputs("<h2", out);
        put_anchor(html, block, -1);
        put(out, ">", block->text, "</h2>\n");
        break;
    case PAGE_TEXT:
        if (block->tone != PAGE_PLAIN)
            fprintf(out, "<p class=\"box %s\">", CLASSES[block->tone]);
        else
            fputs("<p>", out);
        put_words(out, block->text);
        fputs("</p>\n", out);
        break;
    case PAGE_CODE:
        put(out, "<pre tabindex=\"0\"><code>", block->text, "</code></pre>\n");
        break;
    case PAGE_FINDING:
        put_finding(html, block);
        break;
    case PAGE_FACTS:
        if (block->facts == NULL)
            break;
        fputs("<dl class=\"facts\">\n", out);
        put_facts(out, block->facts);
        fputs("</dl>\n", out);
        break;
    case PAGE_TABLE:
        put_table(html, block);
        break;
    case PAGE_CHART:
        put_chart(html, block);
        break;
    case PAGE_DETAILS:
        fprintf(out, "<details class=\"%s\"%s", CLASSES[block->tone], block->open ? " open" : "");
        if (block->anchor != NULL)
            put_anchor(html, block, -1);
        fputs("><summary>", out);
        put_dot(out, block->tone);
        put(out, "", block->text, "</summary>\n");
        break;
    case PAGE_DETAILS_END:
        fputs("</details>\n", out);
        break;
    }
}

bool page_html_all(const struct page *const *pages, int count, FILE *out)
{
    struct html html = {.out = out, .pages = pages, .count = count};
    struct runbook_parts parts;
    for (int i = 0; i < count; i++)
        if (pages[i]->failed)
            return false;
    collect_runbooks(&html, &parts);
    page_html_head(out, pages[0]->name != NULL ? pages[0]->name : pages[0]->title, NULL);
    fputs("<main>\n", out);
    for (int i = 0; i < count; i++) {
        html.number = i;
        if (pages[i]->title[0] != '\0')
            put_header(&html);
        if (i == 0)
            put_contents(&html, &parts);
        for (const struct page_block *block = pages[i]->blocks; block != NULL; block = block->next)
            put_block(&html, block);
    }
    put_runbooks(&html, &parts);
    if (pages[count - 1]->footer != NULL)
        put(out, "<footer>", pages[count - 1]->footer, "</footer>\n");
    fputs("</main>\n</body>\n</html>\n", out);
    return !ferror(out);
}

bool page_html(const struct page *page, FILE *out)
{
    return page_html_all(&page, 1, out);
}
