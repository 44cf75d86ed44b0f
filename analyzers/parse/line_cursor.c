#include "analyzers/parse/line_cursor.h"

#include "analyzers/parse/jcmd_reply.h"

void line_cursor_begin(struct line_cursor *lines, struct span text)
{
    *lines = (struct line_cursor){.text = text};
    lines->at = text.len - jcmd_reply_skip_pid(text).len;
}

bool line_cursor_next(struct line_cursor *lines, struct span *line)
{
    struct span rest = span_of(lines->text.ptr + lines->at, lines->text.len - lines->at);
    bool terminated;
    if (!span_next_line(&rest, line, &terminated))
        return false;
    if (!terminated) {
        lines->result = PARSE_INCOMPLETE;
        return false;
    }
    lines->at = lines->text.len - rest.len;
    return true;
}

void line_cursor_give_back(struct line_cursor *lines, struct span line)
{
    lines->at = (size_t)(line.ptr - lines->text.ptr);
}

void line_cursor_count_unknown(struct line_cursor *lines, struct span line)
{
    if (lines->unknown_lines++ == 0)
        lines->first_unknown = line;
}

bool line_cursor_stop(struct line_cursor *lines, struct span line, enum parse_result result)
{
    line_cursor_give_back(lines, line);
    lines->result = result;
    return false;
}
