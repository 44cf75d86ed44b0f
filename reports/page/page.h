/* page: a report as blocks, written as text for a terminal, as Markdown or as one page of HTML:
 * the content is decided once, its looks three times. report, triage, analyze, plan, soak, diff
 * and the page of serve are made of it.
 *
 *   struct page page;
 *   page_begin(&page, title, status, severity) -> page_lead, page_origin ...
 *   -> page_heading, page_text, page_facts ... page_fact, page_table ... page_row, page_finding ...
 *   -> page_terminal | page_markdown | page_html -> page_free
 *
 * In HTML a finding is linked to what shows it, in the same page: the sections and charts that
 * page_shows says so of, the rows that have its name; and to its runbook, whose text is part of the
 * page. A page of many sections has a table of contents.
 *
 * A block is finished when the next one begins: page_fact, page_row and the words about a finding,
 * a row or a block belong to the last one. Texts are copied as they are and escaped when written.
 * Running out of memory is remembered: the writers then return false. Ownership: the page owns all
 * of it. One thread. */
#pragma once

#include "analyzers/judge/finding.h"
#include "reports/page/terminal.h"

#define PAGE_COLUMNS_MAX 10

/* What HTML may do: show text and images that are in the page, with the styles of page.css and
 * flamegraph.css, and run one script, flamegraph.js, all three by their hashes: the list is PAGE_STYLES
 * and PAGE_SCRIPTS in the Makefile. No style attributes: a browser ignores them. Every page says so
 * itself, and `serve` says it again in the answer's head. */
extern const char page_csp[];

/* How grave something is; the first three are those of enum severity. */
enum page_tone {
    PAGE_OK = SEVERITY_INFO,
    PAGE_WARNING = SEVERITY_WARNING,
    PAGE_CRITICAL = SEVERITY_CRITICAL,
    PAGE_UNKNOWN,
    PAGE_PLAIN,
};

enum page_block_kind {
    PAGE_HEADING,
    PAGE_TEXT,
    PAGE_CODE,
    PAGE_FINDING,
    PAGE_FACTS,
    PAGE_TABLE,
    PAGE_CHART,
    PAGE_DETAILS, /* what follows up to PAGE_DETAILS_END can be folded away */
    PAGE_DETAILS_END,
};

struct page_fact {
    struct page_fact *next;
    const char *name, *value;
};

struct page_cell {
    const char *text;
    const char *link;  /* "#t3"; NULL */
    const char *chart; /* an SVG; NULL */
    const char *note;  /* small, below; NULL */
    enum page_tone note_tone;
};

struct page_row {
    struct page_row *next;
    enum page_tone tone; /* PAGE_PLAIN: none */
    struct page_fact *facts, *last_fact;
    struct page_cell cells[PAGE_COLUMNS_MAX];
};

struct page_block {
    struct page_block *next;
    enum page_block_kind kind;
    enum page_tone tone;
    const char *text;   /* heading, sentence, code, title of a chart, summary of details */
    const char *anchor; /* id in HTML; NULL */
    unsigned subjects;  /* PAGE_HEADING, PAGE_CHART: enum page_subject */
    bool open;          /* PAGE_DETAILS */
    /* PAGE_FINDING */
    const struct finding *finding;
    bool in_title;                  /* the page's title has the finding's */
    int number;                     /* 0: none */
    const char *about, *about_link; /* whose finding it is; NULL */
    const char *when;               /* NULL */
    /* PAGE_FACTS; PAGE_TABLE has rows */
    struct page_fact *facts, *last_fact;
    int column_count; /* a head that begins with '#' is a column of numbers */
    const char *heads[PAGE_COLUMNS_MAX];
    int row_count;
    struct page_row *rows, *last_row;
    /* PAGE_CHART */
    const char *caption, *svg, *file; /* svg or file may be NULL */
};

struct page {
    const char *title;
    const char *status; /* "CRITICAL" */
    enum page_tone tone;
    const char *name;                   /* of the window; NULL: the title */
    const char *lead, *origin, *footer; /* NULL: none */
    struct page_fact *links, *last_link;
    const char *runbooks; /* address in front of class-explosion.md; NULL: the file's name */
    struct page_block *blocks, *last;
    struct texts texts; /* its memory */
    bool failed;
};

/* A page without a title ("") is blocks alone, part of another text. */
void page_begin(struct page *page, const char *title, const char *status, enum severity severity);
/* The page's own tone, when it is not that of a severity. */
void page_set_tone(struct page *page, enum page_tone tone);
#define PAGE_FORMAT(at) __attribute__((format(printf, at, (at) + 1)))
void page_set_name(struct page *page, const char *format, ...) PAGE_FORMAT(2);
/* Below the title: what to do; in small letters who, from when. */
void page_lead(struct page *page, const char *text);
void page_origin(struct page *page, const char *format, ...) PAGE_FORMAT(2);
void page_link(struct page *page, const char *text, const char *address);
void page_footer(struct page *page, const char *format, ...) PAGE_FORMAT(2);
/* Only "http://" and "https://" become links. */
void page_runbooks(struct page *page, const char *address);

void page_heading(struct page *page, const char *text);
void page_text(struct page *page, const char *format, ...) PAGE_FORMAT(2);
/* Shown as it is, in one line each, to be copied: flags, a command. */
void page_code(struct page *page, const char *format, ...) PAGE_FORMAT(2);
/* A picture: its SVG for HTML, the name of a file beside the page for Markdown; one may be NULL. */
void page_chart(struct page *page, const char *title, const char *caption, const char *svg,
                const char *file);
void page_details(struct page *page, const char *summary, bool open);
void page_details_end(struct page *page);
/* Of the last block: its id, its tone (a sentence: a box). */
void page_anchor(struct page *page, const char *format, ...) PAGE_FORMAT(2);
void page_tone(struct page *page, enum page_tone tone);
/* Of the last block, a heading or a chart: enum page_subject. */
void page_shows(struct page *page, unsigned subjects);

void page_finding(struct page *page, const struct finding *finding);
/* Of the last finding: its number; whose it is, with a link; when. */
void page_finding_number(struct page *page, int number);
void page_finding_about(struct page *page, const char *about, const char *link);
void page_finding_when(struct page *page, const char *format, ...) PAGE_FORMAT(2);

/* A list of names with values. A fact without a value is left out. */
void page_facts(struct page *page);
void page_fact(struct page *page, const char *name, const char *value);

/* heads: string literals, NULL-terminated, at most PAGE_COLUMNS_MAX. */
void page_table_of(struct page *page, const char *const *heads);
#define page_table(page, ...) page_table_of(page, (const char *const[]){__VA_ARGS__, NULL})
/* A row of the last table: as many texts as it has columns. */
void page_row(struct page *page, ...);
/* Of the last row. */
void page_row_tone(struct page *page, enum page_tone tone);
void page_row_fact(struct page *page, const char *name, const char *value);
void page_cell_link(struct page *page, int column, const char *address);
void page_cell_chart(struct page *page, int column, const char *svg);
void page_cell_note(struct page *page, int column, enum page_tone tone, const char *text);
void page_free(struct page *page);

bool page_terminal(const struct page *page, const struct terminal *terminal);
bool page_markdown(const struct page *page, FILE *out);
bool page_html(const struct page *page, FILE *out);
/* Several pages as one file, which has the name of the first one. */
bool page_html_all(const struct page *const *pages, int count, FILE *out);

/* Writes the blocks as text that is no terminal's, and frees the page. */
bool page_print(struct page *page, FILE *out);

/* The head of every HTML page, up to <body>. style: a file's text of PAGE_STYLES that it needs besides
 * page.css; NULL. */
void page_html_head(FILE *out, const char *name, const char *style);
/* Whether a head is that of numbers; its text without the mark. */
bool page_is_number(const char *head);
const char *page_head_text(const char *head);
