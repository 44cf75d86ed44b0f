#include "analyzers/parse/class_hierarchy.h"

#include <limits.h>

void class_hierarchy_begin(struct class_hierarchy *hierarchy, struct span text)
{
    *hierarchy = (struct class_hierarchy){0};
    line_cursor_begin(&hierarchy->lines, text);
}

/* "|  |  |--" -> 3; nothing for the root. */
static int take_depth(struct span *line)
{
    int depth = 0;
    while (depth < INT_MAX && span_take(line, SPAN_LITERAL("|  ")))
        depth++;
    return span_take(line, SPAN_LITERAL("|--")) ? depth + 1 : depth;
}

/* "null" or "0x00007f1cec2e3230" */
static bool read_loader(struct span text, uint64_t *address)
{
    *address = 0;
    if (span_equals(text, SPAN_LITERAL("null")))
        return true;
    return span_take(&text, SPAN_LITERAL("0x")) && span_take_hex(&text, address) && text.len == 0;
}

/* "(invokes: ...)" may contain slashes and must go first; the loader stands behind the last slash
 * of what remains, because the name of a hidden class has one too. */
static bool read_row(struct class_hierarchy_row *row, struct span line)
{
    *row = (struct class_hierarchy_row){.depth = take_depth(&line)};
    ptrdiff_t invokes = span_find(line, SPAN_LITERAL(" (invokes: "));
    if (invokes >= 0) {
        row->invokes = span_of(line.ptr + invokes, line.len - (size_t)invokes);
        span_take(&row->invokes, SPAN_LITERAL(" (invokes: "));
        if (!span_ends_with(row->invokes, SPAN_LITERAL(")")))
            return false;
        row->invokes.len--;
        line.len = (size_t)invokes;
    }
    struct span interface = SPAN_LITERAL(" (intf)");
    if (span_ends_with(line, interface)) {
        row->is_interface = true;
        line.len -= interface.len;
    }
    const char *slash = line.len ? memrchr(line.ptr, '/', line.len) : NULL;
    if (!slash || slash == line.ptr)
        return false;
    row->name = span_of(line.ptr, (size_t)(slash - line.ptr));
    return read_loader(span_of(slash + 1, line.len - row->name.len - 1), &row->loader_address);
}

static bool is_implements_line(struct span line)
{
    take_depth(&line);
    return span_starts_with(line, SPAN_LITERAL("implements "));
}

bool class_hierarchy_next(struct class_hierarchy *hierarchy, struct class_hierarchy_row *row)
{
    struct line_cursor *lines = &hierarchy->lines;
    struct span line;
    if (lines->result != PARSE_OK)
        return false;
    while (line_cursor_next(lines, &line)) {
        bool of_tree = line.len > 0 && line.ptr[0] == '|';
        if (!of_tree && hierarchy->rows > 0) {
            line_cursor_give_back(lines, line); /* another command's */
            return false;
        }
        if (span_trim(line).len == 0)
            continue;
        if (of_tree && is_implements_line(line))
            continue;
        if (read_row(row, line)) {
            hierarchy->rows++;
            return true;
        }
        if (!of_tree)
            return line_cursor_stop(lines, line, PARSE_MALFORMED);
        line_cursor_count_unknown(lines, line);
    }
    if (hierarchy->rows == 0)
        lines->result = PARSE_INCOMPLETE;
    return false;
}
