#include "analyzers/parse/classes.h"

/*
 * KlassAddr           Size  State                 Flags    ClassName
 * 0x0000000069172938    65  linked                WS       java.io.Serializable
 * 0x00000000691724f0    64                                 [Ljava.lang.Object;
 *
 * State and flags may be empty, so their columns are counted, not split at blanks; behind a word
 * that is too long for its column the next one starts two blanks later.
 */
#define STATE_COLUMNS 20
#define FLAGS_COLUMNS 7

void classes_begin(struct classes *classes, struct span text)
{
    *classes = (struct classes){0};
    line_cursor_begin(&classes->lines, text);
}

/* A word padded to `columns`, then two blanks. */
static bool take_column(struct span *line, size_t columns, struct span *word)
{
    size_t len = 0;
    while (len < line->len && line->ptr[len] != ' ')
        len++;
    *word = span_of(line->ptr, len);
    size_t taken = (len > columns ? len : columns) + 2;
    if (taken > line->len)
        return false;
    for (size_t i = len; i < taken; i++)
        if (line->ptr[i] != ' ')
            return false;
    *line = span_of(line->ptr + taken, line->len - taken);
    return true;
}

static bool read_row(struct classes_row *row, struct span line)
{
    *row = (struct classes_row){0};
    if (!span_take(&line, SPAN_LITERAL("0x")) || !span_take_hex(&line, &row->address))
        return false;
    while (span_take(&line, SPAN_LITERAL(" ")))
        ;
    if (!span_take_unsigned(&line, &row->size_words) || !span_take(&line, SPAN_LITERAL("  ")) ||
        !take_column(&line, STATE_COLUMNS, &row->state) ||
        !take_column(&line, FLAGS_COLUMNS, &row->flags))
        return false;
    row->name = span_trim(line);
    row->is_array = span_starts_with(row->name, SPAN_LITERAL("["));
    return row->name.len > 0;
}

bool classes_next(struct classes *classes, struct classes_row *row)
{
    struct line_cursor *lines = &classes->lines;
    struct span line;
    if (lines->result != PARSE_OK)
        return false;
    while (line_cursor_next(lines, &line)) {
        bool is_row = span_starts_with(line, SPAN_LITERAL("0x"));
        if (!classes->started) {
            if (span_trim(line).len == 0)
                continue;
            if (!span_starts_with(line, SPAN_LITERAL("KlassAddr ")))
                return line_cursor_stop(lines, line, PARSE_MALFORMED);
            classes->started = true;
        } else if (is_row && read_row(row, line)) {
            return true;
        } else if (is_row) {
            return line_cursor_stop(lines, line, PARSE_MALFORMED);
        } else if (line.len > 0 && line.ptr[0] != ' ' && line.ptr[0] != '\t') {
            line_cursor_give_back(lines, line); /* another command's */
            return false;
        } else if (span_trim(line).len > 0) {
            line_cursor_count_unknown(lines, line);
        }
    }
    if (!classes->started)
        lines->result = PARSE_INCOMPLETE;
    return false;
}
