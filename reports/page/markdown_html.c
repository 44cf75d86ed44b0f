/* Markdown as HTML: as much of it as docs/runbooks is written in. A line at a time; those of a
 * paragraph or an item are one text. A block ends with an empty line or where another kind begins. */
#include "reports/page/runbooks.h"
#include "reports/text/escape.h"

#include <stdlib.h>

enum block { NO_BLOCK, PARAGRAPH, BULLETS, NUMBERS, TABLE, CODE, FENCED };

struct writer {
    FILE *out;
    int level;
    markdown_link_fn *link;
    const void *context;
    enum block block;
    bool item;        /* an <li> is open */
    struct span text; /* of the paragraph or the item, not yet written */
    int rows;         /* of the table */
    char numbers[64]; /* '1' for a column of numbers */
};

static void put_text(FILE *out, struct span text)
{
    char *copy = strndup(text.ptr, text.len);
    if (copy == NULL)
        return;
    for (char *at = copy; (at = strchr(at, '\n')) != NULL;)
        *at = ' ';
    escape_put(ESCAPE_HTML, copy, out);
    free(copy);
}

/* --- inside a line ---------------------------------------------------------------------------- */

/* "[text](target)": true, and how long it is. */
static bool is_link(struct span line, struct span *text, struct span *target, size_t *length)
{
    ptrdiff_t middle = span_find(line, SPAN_LITERAL("]("));
    if (line.len == 0 || line.ptr[0] != '[' || middle < 0)
        return false;
    struct span rest = span_skip(line, (size_t)middle + 2);
    ptrdiff_t end = span_find(rest, SPAN_LITERAL(")"));
    if (end < 0)
        return false;
    *text = span_of(line.ptr + 1, (size_t)middle - 1);
    *target = span_of(rest.ptr, (size_t)end);
    *length = (size_t)middle + 2 + (size_t)end + 1;
    return true;
}

/* Between two marks: "`", "**" or "*". False when the second one is not there. */
static bool is_between(struct span line, struct span mark, struct span *inside)
{
    if (!span_starts_with(line, mark))
        return false;
    struct span rest = span_skip(line, mark.len);
    ptrdiff_t end = span_find(rest, mark);
    if (end <= 0 || rest.ptr[0] == ' ')
        return false;
    *inside = span_of(rest.ptr, (size_t)end);
    return true;
}

void markdown_html_line(FILE *out, struct span line, markdown_link_fn *link, const void *context)
{
    static const struct {
        struct span mark;
        const char *element;
    } MARKS[] = {{SPAN_INIT("`"), "code"}, {SPAN_INIT("**"), "strong"}, {SPAN_INIT("*"), "em"}};
    while (line.len > 0) {
        struct span text, target;
        size_t length, m = 0;
        if (line.ptr[0] == '\\' && line.len > 1) {
            put_text(out, span_of(line.ptr + 1, 1));
            line = span_skip(line, 2);
            continue;
        }
        if (link != NULL && is_link(line, &text, &target, &length)) {
            char address[600] = "";
            link(context, target, address, sizeof address);
            if (address[0] != '\0') {
                fputs("<a href=\"", out);
                escape_put(ESCAPE_HTML, address, out);
                fputs("\">", out);
            }
            markdown_html_line(out, text, NULL, NULL);
            fputs(address[0] != '\0' ? "</a>" : "", out);
            line = span_skip(line, length);
            continue;
        }
        while (m < 3 && !is_between(line, MARKS[m].mark, &text))
            m++;
        if (m < 3) {
            fprintf(out, "<%s>", MARKS[m].element);
            if (m == 0)
                put_text(out, text);
            else
                markdown_html_line(out, text, link, context);
            fprintf(out, "</%s>", MARKS[m].element);
            line = span_skip(line, text.len + 2 * MARKS[m].mark.len);
            continue;
        }
        size_t plain = 1;
        while (plain < line.len && strchr("\\`*[", line.ptr[plain]) == NULL)
            plain++;
        put_text(out, span_of(line.ptr, plain));
        line = span_skip(line, plain);
    }
}

static void put_line(const struct writer *writer, struct span line)
{
    markdown_html_line(writer->out, line, writer->link, writer->context);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static const struct {
    const char *begin, *end;
} BLOCKS[] = {
    [NO_BLOCK] = {"", ""},
    [PARAGRAPH] = {"<p>", "</p>\n"},
    [BULLETS] = {"<ul>\n", "</ul>\n"},
    [NUMBERS] = {"<ol>\n", "</ol>\n"},
    [TABLE] = {"<div class=\"scroll\" tabindex=\"0\"><table>\n", "</tbody></table></div>\n"},
    [CODE] = {"<pre tabindex=\"0\"><code>", "</code></pre>\n"},
    [FENCED] = {"<pre tabindex=\"0\"><code>", "</code></pre>\n"},
};

static void flush(struct writer *writer)
{
    put_line(writer, writer->text);
    writer->text.len = 0;
}

static void turn_to(struct writer *writer, enum block block)
{
    if (writer->block == block)
        return;
    flush(writer);
    fputs(writer->item ? "</li>\n" : "", writer->out);
    fputs(BLOCKS[writer->block].end, writer->out);
    fputs(BLOCKS[block].begin, writer->out);
    writer->block = block;
    writer->item = false;
    writer->rows = 0;
}

/* "* text", "- text", "12. text": what it is an item of. */
static enum block item_of(struct span *line)
{
    struct span rest = *line;
    int64_t number;
    if (span_take(line, SPAN_LITERAL("* ")) || span_take(line, SPAN_LITERAL("- ")))
        return BULLETS;
    if (!span_take_unsigned(&rest, &number) || !span_take(&rest, SPAN_LITERAL(". ")))
        return NO_BLOCK;
    *line = rest;
    return NUMBERS;
}

/* Up to the next bar that is not part of the text. */
static bool take_cell(struct span *row, struct span *cell)
{
    size_t end = 0;
    bool code = false;
    while (end < row->len && (row->ptr[end] != '|' || code)) {
        code ^= row->ptr[end] == '`';
        end += row->ptr[end] == '\\' ? 2 : 1;
    }
    if (end >= row->len)
        return false;
    *cell = span_trim(span_of(row->ptr, end));
    *row = span_skip(*row, end + 1);
    return true;
}

/* The second row is the line below the head: it says which columns are numbers. */
static void put_row(struct writer *writer, struct span row, struct span rest)
{
    struct span cell, below;
    const char *element = writer->rows == 0 ? "th" : "td";
    size_t column = 0;
    row = span_skip(row, 1);
    if (writer->rows++ == 1)
        return;
    if (writer->rows == 1) {
        memset(writer->numbers, 0, sizeof writer->numbers);
        span_take_line(&rest, &below);
        below = span_skip(below, below.len > 0);
        for (size_t i = 0; i < sizeof writer->numbers && take_cell(&below, &cell); i++)
            writer->numbers[i] = (char)span_ends_with(cell, SPAN_LITERAL(":"));
    }
    fputs(writer->rows == 1 ? "<thead><tr>" : "<tr>", writer->out);
    for (; column < sizeof writer->numbers && take_cell(&row, &cell); column++) {
        fprintf(writer->out, "<%s%s%s>", element, writer->rows == 1 ? " scope=\"col\"" : "",
                writer->numbers[column] ? " class=\"n\"" : "");
        put_line(writer, cell);
        fprintf(writer->out, "</%s>", element);
    }
    fputs(writer->rows == 1 ? "</tr></thead>\n<tbody>\n" : "</tr>\n", writer->out);
}

static void put_code(struct writer *writer, struct span line)
{
    put_text(writer->out, line);
    fputc('\n', writer->out);
}

static bool put_heading(struct writer *writer, struct span line)
{
    int depth = 0;
    while ((size_t)depth < line.len && line.ptr[depth] == '#')
        depth++;
    struct span text = span_skip(line, (size_t)depth);
    if (depth == 0 || !span_take(&text, SPAN_LITERAL(" ")))
        return false;
    turn_to(writer, NO_BLOCK);
    int level = writer->level + depth - 1 < 6 ? writer->level + depth - 1 : 6;
    fprintf(writer->out, "<h%d>", level);
    put_line(writer, text);
    fprintf(writer->out, "</h%d>\n", level);
    return true;
}

static void put(struct writer *writer, struct span line, struct span rest)
{
    bool in_item = writer->block == BULLETS || writer->block == NUMBERS;
    struct span text = line;
    enum block item;
    if (writer->block == FENCED) {
        if (span_starts_with(line, SPAN_LITERAL("```")))
            turn_to(writer, NO_BLOCK);
        else
            put_code(writer, line);
        return;
    }
    if (span_trim(line).len == 0) {
        /* Code continues after an empty line when there is more of it. */
        if (writer->block == CODE && span_starts_with(rest, SPAN_LITERAL("    ")))
            put_code(writer, line);
        else if (!in_item)
            turn_to(writer, NO_BLOCK);
        return;
    }
    if (span_starts_with(line, SPAN_LITERAL("```"))) {
        turn_to(writer, FENCED);
    } else if (put_heading(writer, line)) {
    } else if (line.ptr[0] == '|') {
        turn_to(writer, TABLE);
        put_row(writer, line, rest);
    } else if ((item = item_of(&text)) != NO_BLOCK) {
        turn_to(writer, item);
        flush(writer);
        fputs(writer->item ? "</li>\n<li>" : "<li>", writer->out);
        writer->item = true;
        writer->text = text;
    } else if (!in_item && writer->block != PARAGRAPH && span_take(&text, SPAN_LITERAL("    "))) {
        turn_to(writer, CODE);
        put_code(writer, text);
    } else {
        bool goes_on = in_item ? line.ptr[0] == ' ' : writer->block == PARAGRAPH;
        if (!goes_on) {
            turn_to(writer, PARAGRAPH);
            writer->text = line;
        }
        writer->text.len = (size_t)(line.ptr + line.len - writer->text.ptr);
    }
}

void markdown_html(FILE *out, struct span text, int level, markdown_link_fn *link,
                   const void *context)
{
    struct writer writer = {.out = out, .level = level, .link = link, .context = context};
    struct span line;
    while (span_take_line(&text, &line))
        put(&writer, line, text);
    turn_to(&writer, NO_BLOCK);
}
