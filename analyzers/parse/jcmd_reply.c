#include "analyzers/parse/jcmd_reply.h"

/* What the first line of a refusal begins with, over all versions. */
static const struct {
    struct span prefix;
    enum jcmd_reply_kind kind;
} refusals[] = {
    {SPAN_INIT("Native memory tracking is not enabled"), JCMD_NMT_OFF},
    {SPAN_INIT("Native memory tracking has been shutdown"), JCMD_NMT_SHUT_DOWN},
    {SPAN_INIT("Native memory tracking has been turned off"), JCMD_NMT_SHUT_DOWN},
    {SPAN_INIT("No baseline for comparison"), JCMD_NO_BASELINE},
    {SPAN_INIT("Detail tracking is not enabled"), JCMD_DETAIL_OFF},
    {SPAN_INIT("Baseline succeeded"), JCMD_BASELINE_TAKEN},
    {SPAN_INIT("Baseline taken"), JCMD_BASELINE_TAKEN},
    {SPAN_INIT("Incorrect scale value"), JCMD_BAD_SCALE},
};

struct span jcmd_reply_skip_pid(struct span text)
{
    struct span rest = text, line;
    bool terminated;
    int64_t pid;
    if (text.len == 0 || text.ptr[0] < '0' || text.ptr[0] > '9' ||
        !span_next_line(&rest, &line, &terminated) || !terminated)
        return text;
    return span_take_i64(&line, &pid) && span_equals(line, SPAN_LITERAL(":")) ? rest : text;
}

/* "java.lang.IllegalArgumentException: Unknown ..." at the front of a line, or behind the name of
 * the exception in which jcmd wraps it. Class names have no spaces: ordinary output that merely
 * mentions an exception does not match. */
static bool is_exception_line(struct span line)
{
    const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
    struct span name = colon ? span_of(line.ptr, (size_t)(colon - line.ptr)) : line;
    if (name.len == 0 || memchr(name.ptr, ' ', name.len) != NULL ||
        memchr(name.ptr, '.', name.len) == NULL)
        return false;
    return span_ends_with(name, SPAN_LITERAL("Exception")) ||
           span_ends_with(name, SPAN_LITERAL("Error"));
}

static enum jcmd_reply_kind exception_kind(struct span line)
{
    if (span_find(line, SPAN_LITERAL("Unknown diagnostic command")) >= 0)
        return JCMD_UNKNOWN_COMMAND;
    if (span_find(line, SPAN_LITERAL("Unknown argument")) >= 0)
        return JCMD_UNKNOWN_ARGUMENT;
    return JCMD_EXCEPTION;
}

struct jcmd_reply jcmd_reply_classify(struct span text)
{
    struct span output = jcmd_reply_skip_pid(text), rest = output, line;
    while (span_take_line(&rest, &line)) {
        line = span_trim(line);
        if (line.len == 0)
            continue;
        int i = span_row(line, span_starts_with, SPAN_TABLE(refusals));
        if (i >= 0)
            return (struct jcmd_reply){refusals[i].kind, line, rest};
        if (is_exception_line(line))
            return (struct jcmd_reply){exception_kind(line), line, rest};
        return (struct jcmd_reply){JCMD_OK, span_of(line.ptr, 0), output};
    }
    return (struct jcmd_reply){JCMD_EMPTY, output, output};
}

/* --- the lines of a table --------------------------------------------------------------------- */

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
