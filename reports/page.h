/*
 * page: a report as blocks (headings, sentences, findings, tables) that is written as text for a
 * terminal, as Markdown or as one page of HTML: what is said is decided once, how it looks thrice.
 *
 *   struct page page = {0};
 *   page_begin(&page, title, status) -> page_text, page_finding, page_table ... page_row
 *   -> page_terminal | page_markdown | page_html -> page_free
 *
 * Texts are copied as they are and escaped when written. Running out of memory is remembered: the
 * writers then return false. One thread.
 */
#ifndef REPORTS_PAGE_H
#define REPORTS_PAGE_H

#include "analyzers/judge/finding.h"
#include "reports/terminal.h"

#define PAGE_COLUMNS_MAX 6

enum page_block_kind { PAGE_HEADING, PAGE_TEXT, PAGE_FINDING, PAGE_TABLE };

struct page_row {
    char *cell[PAGE_COLUMNS_MAX];
};

struct page_block {
    enum page_block_kind kind;
    char *text;              /* heading, sentence */
    struct finding *finding; /* PAGE_FINDING */
    int column_count;        /* PAGE_TABLE; a head that begins with '#' is a column of numbers */
    const char *heads[PAGE_COLUMNS_MAX]; /* literals */
    int row_count;
    struct page_row *rows;
};

struct page {
    char *title;
    char *status; /* "CRITICAL" */
    enum severity severity;
    int block_count;
    struct page_block *blocks;
    bool failed;
};

void page_begin(struct page *page, const char *title, const char *status, enum severity severity);
void page_heading(struct page *page, const char *text);
void page_text(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_finding(struct page *page, const struct finding *finding);
/* heads: string literals, NULL-terminated, at most PAGE_COLUMNS_MAX. */
void page_table(struct page *page, const char *const *heads);
/* A row of the last table: as many texts as it has columns. */
void page_row(struct page *page, ...);
void page_free(struct page *page);

bool page_terminal(const struct page *page, const struct terminal *terminal);
bool page_markdown(const struct page *page, FILE *out);
bool page_html(const struct page *page, FILE *out);

#endif
