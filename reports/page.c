#include "reports/page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static char *copy(struct page *page, const char *text)
{
    char *own = strdup(text);
    page->failed = page->failed || own == NULL;
    return own;
}

void page_begin(struct page *page, const char *title, const char *status, enum severity severity)
{
    memset(page, 0, sizeof *page);
    page->title = copy(page, title);
    page->status = copy(page, status);
    page->severity = severity;
}

static struct page_block *add(struct page *page, enum page_block_kind kind)
{
    struct page_block *blocks =
        realloc(page->blocks, (size_t)(page->block_count + 1) * sizeof *blocks);
    if (blocks == NULL) {
        page->failed = true;
        return NULL;
    }
    page->blocks = blocks;
    struct page_block *block = &blocks[page->block_count++];
    memset(block, 0, sizeof *block);
    block->kind = kind;
    return block;
}

void page_heading(struct page *page, const char *text)
{
    struct page_block *block = add(page, PAGE_HEADING);
    if (block != NULL)
        block->text = copy(page, text);
}

void page_text(struct page *page, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct page_block *block = add(page, PAGE_TEXT);
    if (block != NULL)
        block->text = copy(page, text);
}

void page_finding(struct page *page, const struct finding *finding)
{
    struct page_block *block = add(page, PAGE_FINDING);
    if (block == NULL)
        return;
    block->finding = malloc(sizeof *finding);
    if (block->finding != NULL)
        *block->finding = *finding;
    else
        page->failed = true;
}

void page_table(struct page *page, const char *const *heads)
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
    struct page_block *block = page->block_count > 0 ? &page->blocks[page->block_count - 1] : NULL;
    if (block == NULL || block->kind != PAGE_TABLE)
        return;
    struct page_row *rows = realloc(block->rows, (size_t)(block->row_count + 1) * sizeof *rows);
    if (rows == NULL) {
        page->failed = true;
        return;
    }
    block->rows = rows;
    struct page_row *row = &rows[block->row_count++];
    memset(row, 0, sizeof *row);
    va_list cells;
    va_start(cells, page);
    for (int i = 0; i < block->column_count; i++)
        row->cell[i] = copy(page, va_arg(cells, const char *));
    va_end(cells);
}

void page_free(struct page *page)
{
    for (int i = 0; i < page->block_count; i++) {
        struct page_block *block = &page->blocks[i];
        for (int r = 0; r < block->row_count; r++) {
            for (int c = 0; c < PAGE_COLUMNS_MAX; c++)
                free(block->rows[r].cell[c]);
        }
        free(block->rows);
        free(block->text);
        free(block->finding);
    }
    free(page->blocks);
    free(page->title);
    free(page->status);
    memset(page, 0, sizeof *page);
}
