#include "analyzers/parse/class_histogram.h"

/*
 *  num     #instances         #bytes  class name (module)
 * -------------------------------------------------------
 *    1:          8701         390712  [B (java.base@17.0.21.0.3)
 * Total         38861        1736544
 */

void class_histogram_begin(struct class_histogram *histogram, struct span text)
{
    *histogram = (struct class_histogram){0};
    line_cursor_begin(&histogram->lines, text);
}

static bool take_number(struct span *text, int64_t *number)
{
    *text = span_trim(*text);
    return span_take_unsigned(text, number);
}

static bool read_total(struct class_histogram_total *total, struct span line)
{
    total->present = span_take(&line, SPAN_LITERAL("Total ")) &&
                     take_number(&line, &total->instances) && take_number(&line, &total->bytes) &&
                     span_trim(line).len == 0;
    return total->present;
}

/* "[B (java.base@17.0.2)": class names may contain blanks, module names do not. */
static void split_module(struct class_histogram_row *row)
{
    struct span name = row->name;
    const char *open = name.len ? memrchr(name.ptr, '(', name.len) : NULL;
    if (!open || open - name.ptr < 2 || open[-1] != ' ' || name.ptr[name.len - 1] != ')')
        return;
    size_t at = (size_t)(open - name.ptr);
    row->name.len = at - 1;
    row->module = span_of(open + 1, name.len - at - 2);
}

static bool read_row(struct class_histogram_row *row, struct span line)
{
    *row = (struct class_histogram_row){0};
    if (!take_number(&line, &row->rank) || !span_take(&line, SPAN_LITERAL(":")) ||
        !take_number(&line, &row->instances) || !take_number(&line, &row->bytes) ||
        !span_take(&line, SPAN_LITERAL(" ")))
        return false;
    row->name = span_trim(line);
    split_module(row);
    return row->name.len > 0;
}

static bool is_row(struct span content)
{
    int64_t rank;
    return span_take_unsigned(&content, &rank) && span_starts_with(content, SPAN_LITERAL(":"));
}

bool class_histogram_next(struct class_histogram *histogram, struct class_histogram_row *row)
{
    struct line_cursor *lines = &histogram->lines;
    struct span line;
    if (lines->result != PARSE_OK || histogram->total.present)
        return false;
    while (line_cursor_next(lines, &line)) {
        struct span content = span_trim(line);
        if (content.len == 0 || span_starts_with(content, SPAN_LITERAL("---")))
            continue;
        if (!histogram->started) {
            if (!span_starts_with(content, SPAN_LITERAL("num ")))
                return line_cursor_stop(lines, line, PARSE_MALFORMED);
            histogram->started = true;
        } else if (span_starts_with(line, SPAN_LITERAL("Total"))) {
            return read_total(&histogram->total, line)
                       ? false
                       : line_cursor_stop(lines, line, PARSE_MALFORMED);
        } else if (is_row(content)) {
            return read_row(row, line) || line_cursor_stop(lines, line, PARSE_MALFORMED);
        } else {
            line_cursor_count_unknown(lines, line);
        }
    }
    lines->result = PARSE_INCOMPLETE;
    return false;
}
