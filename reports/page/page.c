#include "reports/page/page.h"

#include "reports/text/escape.h"

static void *take(struct page *page, size_t size)
{
    void *taken = texts_take(&page->texts, size);
    page->failed = page->failed || taken == NULL;
    return taken;
}

static const char *copy(struct page *page, const char *text)
{
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *own = text != NULL ? take(page, size) : NULL;
    if (text == NULL)
        return NULL;
    return own != NULL ? memcpy(own, text, size) : "";
}

__attribute__((format(printf, 2, 0))) static const char *
format_text(struct page *page, const char *format, va_list arguments)
{
    const char *own = texts_format(&page->texts, format, arguments);
    page->failed = page->failed || own == NULL;
    return own != NULL ? own : "";
}

#define FORMATTED(page, format, into)                                                              \
    do {                                                                                           \
        va_list arguments_;                                                                        \
        va_start(arguments_, format);                                                              \
        (into) = format_text(page, format, arguments_);                                            \
        va_end(arguments_);                                                                        \
    } while (0)

void page_free(struct page *page)
{
    texts_free(&page->texts);
    memset(page, 0, sizeof *page);
}

/* --- the page --------------------------------------------------------------------------------- */

void page_begin(struct page *page, const char *title, const char *status, enum severity severity)
{
    memset(page, 0, sizeof *page);
    page->title = copy(page, title);
    page->status = copy(page, status);
    page->tone = (enum page_tone)severity;
}

void page_set_tone(struct page *page, enum page_tone tone)
{
    page->tone = tone;
}

void page_set_name(struct page *page, const char *format, ...)
{
    FORMATTED(page, format, page->name);
}

void page_lead(struct page *page, const char *text)
{
    page->lead = text[0] != '\0' ? copy(page, text) : NULL;
}

void page_origin(struct page *page, const char *format, ...)
{
    FORMATTED(page, format, page->origin);
}

void page_footer(struct page *page, const char *format, ...)
{
    FORMATTED(page, format, page->footer);
}

void page_runbooks(struct page *page, const char *address)
{
    bool web = strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0;
    page->runbooks = web ? copy(page, address) : NULL;
}

static void add_fact(struct page *page, struct page_fact **first, struct page_fact **last,
                     const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    struct page_fact *fact = take(page, sizeof *fact);
    if (fact == NULL)
        return;
    fact->name = copy(page, name);
    fact->value = copy(page, value);
    if (*last != NULL)
        (*last)->next = fact;
    else
        *first = fact;
    *last = fact;
}

void page_link(struct page *page, const char *text, const char *address)
{
    add_fact(page, &page->links, &page->last_link, text, address);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static struct page_block *add(struct page *page, enum page_block_kind kind)
{
    struct page_block *block = take(page, sizeof *block);
    if (block == NULL)
        return NULL;
    block->kind = kind;
    block->tone = PAGE_PLAIN;
    if (page->last != NULL)
        page->last->next = block;
    else
        page->blocks = block;
    page->last = block;
    return block;
}

/* The last block when it is of that kind. */
static struct page_block *last(struct page *page, enum page_block_kind kind)
{
    return page->last != NULL && page->last->kind == kind ? page->last : NULL;
}

void page_heading(struct page *page, const char *text)
{
    struct page_block *block = add(page, PAGE_HEADING);
    if (block != NULL)
        block->text = copy(page, text);
}

void page_text(struct page *page, const char *format, ...)
{
    struct page_block *block = add(page, PAGE_TEXT);
    if (block != NULL)
        FORMATTED(page, format, block->text);
}

void page_code(struct page *page, const char *format, ...)
{
    struct page_block *block = add(page, PAGE_CODE);
    if (block != NULL)
        FORMATTED(page, format, block->text);
}

void page_chart(struct page *page, const char *title, const char *caption, const char *svg,
                const char *file)
{
    struct page_block *block = add(page, PAGE_CHART);
    if (block == NULL)
        return;
    block->text = copy(page, title);
    block->caption = copy(page, caption);
    block->svg = copy(page, svg);
    block->file = copy(page, file);
}

void page_details(struct page *page, const char *summary, bool open)
{
    struct page_block *block = add(page, PAGE_DETAILS);
    if (block == NULL)
        return;
    block->text = copy(page, summary);
    block->open = open;
}

void page_details_end(struct page *page)
{
    add(page, PAGE_DETAILS_END);
}

void page_anchor(struct page *page, const char *format, ...)
{
    if (page->last != NULL)
        FORMATTED(page, format, page->last->anchor);
}

void page_tone(struct page *page, enum page_tone tone)
{
    if (page->last != NULL)
        page->last->tone = tone;
}

void page_shows(struct page *page, unsigned subjects)
{
    if (page->last != NULL)
        page->last->subjects = subjects;
}

/* --- findings --------------------------------------------------------------------------------- */

void page_finding(struct page *page, const struct finding *finding)
{
    struct page_block *block = add(page, PAGE_FINDING);
    struct finding *own = block != NULL ? take(page, sizeof *own) : NULL;
    if (own == NULL)
        return;
    finding_copy(own, &page->texts, finding);
    block->finding = own;
    block->in_title = span_starts_with(span_from_cstr(page->title), span_from_cstr(own->title));
    block->tone = (enum page_tone)finding->severity;
}

void page_finding_number(struct page *page, int number)
{
    struct page_block *block = last(page, PAGE_FINDING);
    if (block != NULL)
        block->number = number;
}

void page_finding_about(struct page *page, const char *about, const char *link)
{
    struct page_block *block = last(page, PAGE_FINDING);
    if (block == NULL)
        return;
    block->about = copy(page, about);
    block->about_link = copy(page, link);
}

void page_finding_when(struct page *page, const char *format, ...)
{
    struct page_block *block = last(page, PAGE_FINDING);
    if (block != NULL)
        FORMATTED(page, format, block->when);
}

/* --- facts and tables ------------------------------------------------------------------------- */

void page_facts(struct page *page)
{
    add(page, PAGE_FACTS);
}

void page_fact(struct page *page, const char *name, const char *value)
{
    struct page_block *block = last(page, PAGE_FACTS);
    if (block != NULL)
        add_fact(page, &block->facts, &block->last_fact, name, value);
}

void page_table_of(struct page *page, const char *const *heads)
{
    struct page_block *block = add(page, PAGE_TABLE);
    while (block != NULL && block->column_count < PAGE_COLUMNS_MAX &&
           heads[block->column_count] != NULL) {
        block->heads[block->column_count] = heads[block->column_count];
        block->column_count++;
    }
}

void page_row(struct page *page, ...)
{
    struct page_block *block = last(page, PAGE_TABLE);
    struct page_row *row = block != NULL ? take(page, sizeof *row) : NULL;
    if (row == NULL)
        return;
    va_list cells;
    va_start(cells, page);
    for (int i = 0; i < block->column_count; i++)
        row->cells[i].text = copy(page, va_arg(cells, const char *));
    va_end(cells);
    row->tone = PAGE_PLAIN;
    if (block->last_row != NULL)
        block->last_row->next = row;
    else
        block->rows = row;
    block->last_row = row;
    block->row_count++;
}

static struct page_row *last_row(struct page *page)
{
    struct page_block *block = last(page, PAGE_TABLE);
    return block != NULL ? block->last_row : NULL;
}

static struct page_cell *last_cell(struct page *page, int column)
{
    struct page_row *row = last_row(page);
    return row != NULL && column >= 0 && column < page->last->column_count ? &row->cells[column]
                                                                           : NULL;
}

void page_row_tone(struct page *page, enum page_tone tone)
{
    struct page_row *row = last_row(page);
    if (row != NULL)
        row->tone = tone;
}

void page_row_fact(struct page *page, const char *name, const char *value)
{
    struct page_row *row = last_row(page);
    if (row != NULL)
        add_fact(page, &row->facts, &row->last_fact, name, value);
}

void page_cell_link(struct page *page, int column, const char *address)
{
    struct page_cell *cell = last_cell(page, column);
    if (cell != NULL)
        cell->link = copy(page, address);
}

void page_cell_chart(struct page *page, int column, const char *svg)
{
    struct page_cell *cell = last_cell(page, column);
    if (cell != NULL)
        cell->chart = copy(page, svg);
}

void page_cell_note(struct page *page, int column, enum page_tone tone, const char *text)
{
    struct page_cell *cell = last_cell(page, column);
    if (cell == NULL || text[0] == '\0')
        return;
    cell->note = copy(page, text);
    cell->note_tone = tone;
}

bool page_is_number(const char *head)
{
    return head[0] == '#';
}

const char *page_head_text(const char *head)
{
    return head + page_is_number(head);
}

/* --- page markdown --------------------------------------------------------------------------- */

/* A page in Markdown, GitHub's dialect. */

static void put(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    escape_put(ESCAPE_MARKDOWN, text, out);
    fputs(after, out);
}

/* A missing text is a dash. */
static void put_cell(FILE *out, const char *text)
{
    put(out, "| ", text[0] != '\0' ? text : "-", " ");
}

static void put_facts(FILE *out, const struct page_fact *facts)
{
    for (const struct page_fact *fact = facts; fact != NULL; fact = fact->next) {
        put(out, "- ", fact->name, ": ");
        put(out, "", fact->value, "\n");
    }
    fputc('\n', out);
}

static void put_finding(FILE *out, const struct page *page, const struct page_block *block)
{
    const struct finding *finding = block->finding;
    const struct finding_row *row = finding_row(finding->kind);
    fputs("### ", out);
    if (block->number > 0)
        fprintf(out, "%d. ", block->number);
    fprintf(out, "%s: ", severity_name(finding->severity));
    if (block->about != NULL)
        put(out, "", block->about, ": ");
    if (!block->in_title)
        put(out, "", finding->title, "\n\n");
    fprintf(out, "`%s`", row->id);
    if (finding->family[0] != '\0')
        put(out, " ", finding->family, "");
    if (block->when != NULL)
        put(out, ", ", block->when, "");
    put(out, "\n\n**What to do:** ", finding->advice, "\n\n");
    if (page->runbooks != NULL) {
        put(out, "Runbook: ", page->runbooks, "");
        fprintf(out, "/%s.md\n\n", row->runbook);
    } else {
        fprintf(out, "Runbook: `nmtwatch explain %s`\n\n", row->id);
    }
    if (finding->evidence_count > 0)
        fputs("| figure | value |\n| -- | -- |\n", out);
    for (int i = 0; i < finding->evidence_count; i++) {
        struct evidence_text text = evidence_text(&finding->evidence[i]);
        put_cell(out, text.label);
        put_cell(out, text.value);
        fputs("|\n", out);
    }
    fputc('\n', out);
}

static void put_table(FILE *out, const struct page_block *block)
{
    for (int c = 0; c < block->column_count; c++)
        put(out, "| ", page_head_text(block->heads[c]), " ");
    fputs("|\n", out);
    for (int c = 0; c < block->column_count; c++)
        fputs(page_is_number(block->heads[c]) ? "| --: " : "| -- ", out);
    fputs("|\n", out);
    for (const struct page_row *row = block->rows; row != NULL; row = row->next) {
        for (int c = 0; c < block->column_count; c++)
            put_cell(out, row->cells[c].text);
        fputs("|\n", out);
    }
    fputc('\n', out);
    for (const struct page_row *row = block->rows; row != NULL; row = row->next) {
        if (row->facts == NULL)
            continue;
        put(out, "**", row->cells[0].text, "**\n\n");
        put_facts(out, row->facts);
    }
}

static void put_block(FILE *out, const struct page *page, const struct page_block *block)
{
    switch (block->kind) {
    case PAGE_HEADING:
        put(out, "## ", block->text, "\n\n");
        break;
    case PAGE_TEXT:
        put(out, block->tone != PAGE_PLAIN ? "> " : "", block->text, "\n\n");
        break;
    case PAGE_CODE:
        fputs("    ", out); /* nothing but control characters means anything there */
        escape_put(ESCAPE_TERMINAL, block->text, out);
        fputs("\n\n", out);
        break;
    case PAGE_FINDING:
        put_finding(out, page, block);
        break;
    case PAGE_FACTS:
        put_facts(out, block->facts);
        break;
    case PAGE_TABLE:
        put_table(out, block);
        break;
    case PAGE_CHART:
        if (block->file != NULL) {
            put(out, "![", block->text, "](");
            escape_put(ESCAPE_TERMINAL, block->file, out);
            put(out, ")\n\n", block->caption != NULL ? block->caption : "", "\n\n");
        }
        break;
    case PAGE_DETAILS:
        put(out, "### ", block->text, "\n\n");
        break;
    case PAGE_DETAILS_END:
        break;
    }
}

bool page_markdown(const struct page *page, FILE *out)
{
    if (page->failed)
        return false;
    if (page->title[0] != '\0') {
        fprintf(out, "# %s: ", page->status);
        put(out, "", page->title, "\n\n");
    }
    if (page->lead != NULL)
        put(out, "", page->lead, "\n\n");
    if (page->origin != NULL)
        put(out, "", page->origin, "\n\n");
    for (const struct page_block *block = page->blocks; block != NULL; block = block->next)
        put_block(out, page, block);
    if (page->footer != NULL)
        put(out, "", page->footer, "\n");
    return !ferror(out);
}
