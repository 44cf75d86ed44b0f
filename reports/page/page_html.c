/* A page as one file of HTML: no script, nothing from elsewhere, light and dark, readable on a
 * telephone and on paper. */
#include "reports/page/terminal.h"
#include "reports/page/page.h"
#include "reports/text/escape.h"

#include <string.h>

/* Colours are variables, once for light and once for dark. The rules on svg give gnuplot's fixed
 * ink, axes and grid the page's colours; their values are those of reports/story/chart.c as gnuplot
 * prints them. */
/* clang-format off */
#define STYLE \
":root{--bg:#fff;--card:#f6f7f9;--ink:#1b1f24;--soft:#59636e;--line:#d9dee4;--grid:#ddd;" \
"--ok:#1a7f4b;--warning:#a15c00;--critical:#b00020;--unknown:#59636e;--alert:#b00020;--blue:#0072b2;" \
"--violet:#7b5ea7;--sky:#56b4e9}\n" \
"@media (prefers-color-scheme:dark){:root{--bg:#14171b;--card:#1d2126;--ink:#e4e7eb;--soft:#9aa4af;" \
"--line:#353b43;--grid:#30353c;--ok:#4cc38a;--warning:#f0a840;--critical:#ff6b7a;--unknown:#9aa4af;" \
"--alert:#ff6b7a;--blue:#5aa2f5;--violet:#a58ad6;--sky:#a8e0f5}}\n" \
"*{box-sizing:border-box}\n" \
"body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI'," \
"Roboto,'DejaVu Sans',sans-serif}\n" \
"main{max-width:1160px;margin:0 auto;padding:24px 20px 48px}\n" \
"h1{font-size:1.35rem;line-height:1.4;margin:.4rem 0 .6rem;font-weight:600;overflow-wrap:anywhere}\n" \
"h2{font-size:1.15rem;margin:2.4rem 0 .8rem}\n" \
"h3{font-size:1rem;margin:0;overflow-wrap:anywhere}\n" \
"p{margin:.5rem 0}\n" \
"code{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.88em}\n" \
"header{background:var(--card);border-left:6px solid var(--accent);border-radius:6px;padding:18px 22px}\n" \
".ok{--accent:var(--ok)}.warning{--accent:var(--warning)}.critical{--accent:var(--critical)}" \
".unknown{--accent:var(--unknown)}\n" \
".badge{margin:0;color:var(--accent);font-weight:700;font-size:.85rem;letter-spacing:.06em;" \
"text-transform:uppercase}\n" \
".who,.when,figcaption,footer{color:var(--soft);font-size:.9rem;overflow-wrap:anywhere}\n" \
".who{margin:0}\n" \
"dl{margin:0}dt{color:var(--soft);font-size:.82rem}dd{margin:0;overflow-wrap:anywhere}\n" \
".facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(220px,1fr));gap:12px 24px;" \
"margin:20px 0}\n" \
".box{border:1px solid var(--accent);border-radius:6px;padding:10px 14px}\n" \
".alert{border:1px solid var(--line);border-left:4px solid var(--accent);border-radius:6px;" \
"padding:14px 18px;margin:12px 0;break-inside:avoid}\n" \
".alert .num{color:var(--accent)}\n" \
".alert .when{margin:.2rem 0 .5rem}\n" \
".evidence{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px 20px;" \
"font-size:.9rem}\n" \
".num{font-weight:700}\n" \
".scroll{overflow-x:auto}\n" \
"table{border-collapse:collapse;width:100%;font-size:.92rem}\n" \
"th{text-align:left;color:var(--soft);font-weight:600;font-size:.82rem;vertical-align:bottom}\n" \
"td,p{overflow-wrap:anywhere}th,td{padding:7px 12px 7px 0;border-bottom:1px solid var(--line);vertical-align:top}\n" \
".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n" \
"tr.head td{border-bottom:0}tr.detail td{padding-top:0;padding-bottom:14px}\n" \
"tr.detail dl>div{display:grid;grid-template-columns:8.5em 1fr;gap:8px}\n" \
"figure{margin:0 0 28px;break-inside:avoid}\n" \
"figure svg{display:block;width:100%;min-width:680px;height:auto}figure .lanes{min-width:0}\n" \
"figcaption{margin-top:4px}\n" \
"svg g[fill=\"black\"]{fill:var(--ink)}\n" \
"svg g[fill=\"rgb(85,85,85)\"],svg g[fill=\"rgb(136,136,136)\"]{fill:var(--soft)}\n" \
"svg g[fill=\"rgb(176,0,32)\"]{fill:var(--alert)}\n" \
"svg path[stroke=\"rgb( 85,  85,  85)\"],svg path[stroke=\"rgb(170, 170, 170)\"]{stroke:var(--soft)}\n" \
"svg path[stroke=\"rgb(221, 221, 221)\"]{stroke:var(--grid)}\n" \
"svg path[stroke=\"rgb(176,   0,  32)\"]{stroke:var(--alert)}\n" \
"svg path[stroke=\"rgb(  0, 114, 178)\"]{stroke:var(--blue)}\n" \
"svg path[stroke=\"rgb( 86, 180, 233)\"]{stroke:var(--sky)}\n" \
"svg path[stroke=\"rgb(123,  94, 167)\"]{stroke:var(--violet)}\n" \
"svg>g>rect{fill:none}\n" \
"details{border-bottom:1px solid var(--line)}summary{cursor:pointer;font-weight:500;margin:.6rem 0}\n" \
"details .facts{grid-template-columns:1fr;gap:4px;margin:0 0 14px;font-size:.92rem}\n" \
"details .facts>div{display:grid;grid-template-columns:11em 1fr;gap:14px}details dt{font-size:.85rem}\n" \
"a{color:var(--blue)}nav{margin-top:8px;font-size:.9rem}nav a{margin-right:1.2em}\n" \
".dot{display:inline-block;width:.7em;height:.7em;border-radius:50%;background:var(--accent);" \
"margin-right:.55em}\n" \
"td small{display:block;color:var(--soft);font-size:.8rem;overflow-wrap:anywhere}\n" \
"td small.critical{color:var(--alert);font-weight:600}\n" \
"td svg{display:block;margin:2px 0 0 auto}\n" \
".spark{width:110px;height:26px;overflow:visible}\n" \
".spark polyline{fill:none;stroke:var(--blue);stroke-width:1.6;stroke-linejoin:round;" \
"vector-effect:non-scaling-stroke}\n" \
".spark.grows polyline{stroke:var(--alert)}\n" \
".lanes{font-size:12px}.lanes text{fill:var(--soft)}.lanes .track{fill:var(--card)}\n" \
".lanes .bar{fill:var(--accent);opacity:.55}.lanes .tick{fill:var(--ink)}\n" \
"pre{background:var(--card);border-radius:6px;padding:10px 14px;overflow-x:auto}\n" \
"footer{margin-top:40px;border-top:1px solid var(--line);padding-top:12px}\n" \
"@media (max-width:600px){main{padding:12px 12px 32px}h1{font-size:1.1rem}" \
"tr.detail dl>div{grid-template-columns:1fr;gap:0;margin-bottom:6px}}\n" \
"@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--grid:#ddd}" \
"main{max-width:none;padding:0}figure svg{min-width:0}.scroll{overflow:visible}" \
"header{border:1px solid var(--line);border-left:6px solid var(--accent)}}\n"
/* clang-format on */

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
          "<meta http-equiv=\"Content-Security-Policy\" content=\"" PAGE_CSP "\">\n",
          out);
    if (refresh_s > 0)
        fprintf(out, "<meta http-equiv=\"refresh\" content=\"%d\">\n", refresh_s);
    put(out, "<title>", name, "</title>\n<style>\n" STYLE);
    fprintf(out, "%s</style>\n</head>\n<body>\n", style != NULL ? style : "");
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
