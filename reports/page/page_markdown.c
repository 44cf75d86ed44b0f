/* A page in Markdown, GitHub's dialect. */
#include "reports/page/terminal.h"
#include "reports/page/page.h"
#include "reports/text/escape.h"

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
