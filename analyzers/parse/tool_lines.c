#include "analyzers/parse/tool_lines.h"

#include <string.h>

enum figures { NONE, BEFORE };

static const struct {
    struct span mark;
    enum figures figures;
} ROWS[TOOL_LINE_COUNT] = {
#define TOOL_LINE(id, mark, figures, finding, severity, cause, what) {SPAN_INIT(mark), figures},
#include "analyzers/parse/tool_lines.def"
};

static const struct span FILES[] = {
    SPAN_INIT("memory.usage_in_bytes"),     SPAN_INIT("memory.current"),
    SPAN_INIT("memory.max_usage_in_bytes"), SPAN_INIT("memory.peak"),
    SPAN_INIT("memory.limit_in_bytes"),     SPAN_INIT("memory.max"),
};
#define LIMITS_FROM 4

/* "8.2 GB of 8 GB" at the end of the text: both sizes. */
static bool take_before(struct span text, int64_t *used, int64_t *limit)
{
    static const struct span of = SPAN_INIT(" of ");
    size_t at = text.len;
    while (at > 0 && !span_starts_with(span_skip(text, at), of))
        at--;
    size_t from = at;
    while (from > 0 && !is_digit(text.ptr[from - 1])) /* the unit */
        from--;
    while (from > 0 && (is_digit(text.ptr[from - 1]) || text.ptr[from - 1] == '.'))
        from--;
    struct span first = span_of(text.ptr + from, at - from);
    struct span second = span_skip(text, at + (at > 0 ? of.len : 0));
    return at > 0 && whole_size_take(&first, used) && first.len == 0 &&
           java_size_take(&second, limit);
}

static int row_of(struct span line)
{
    for (int i = 0; i < TOOL_LINE_COUNT; i++)
        if (span_contains(line, ROWS[i].mark))
            return i;
    return -1;
}

static bool is_direct_bean(struct span line)
{
    return span_contains(line, SPAN_LITERAL("java.nio:")) &&
           span_contains(line, SPAN_LITERAL("name=direct"));
}

bool tool_line_is(struct span line)
{
    return row_of(line) >= 0 || span_row(line, span_contains, SPAN_TABLE(FILES)) >= 0 ||
           is_direct_bean(line);
}

static void take_sentence(struct tool_lines *lines, struct span line)
{
    for (int i = 0; i < TOOL_LINE_COUNT; i++) {
        int64_t used = -1, limit = -1;
        ptrdiff_t at = span_find(line, ROWS[i].mark);
        if (at < 0 ||
            (ROWS[i].figures == BEFORE &&
             (!take_before(span_of(line.ptr, (size_t)at), &used, &limit) || used <= limit)))
            continue;
        lines->lines[i]++;
        lines->used_bytes[i] = used;
        lines->limit_bytes[i] = limit;
        span_copy(line, lines->words, sizeof lines->words);
    }
}

/* The number behind the name of a file, in its line or alone in the next one. */
static void take_file(struct tool_lines *lines, int file, struct span rest)
{
    int64_t bytes;
    while (rest.len > 0 && strchr(" \t:=", rest.ptr[0]) != NULL)
        rest = span_skip(rest, 1);
    if (!span_take_unsigned(&rest, &bytes) || span_trim(rest).len > 0 || bytes >= INT64_MAX / 2)
        return;
    int64_t *to = file < LIMITS_FROM ? &lines->cgroup_bytes : &lines->cgroup_limit_bytes;
    if (file < LIMITS_FROM / 2 || *to < 0 || file >= LIMITS_FROM)
        *to = bytes;
}

void tool_lines_read(struct tool_lines *lines, struct span text)
{
    struct span line;
    int file = -1;
    bool direct = false;
    memset(lines, 0, sizeof *lines);
    lines->cgroup_bytes = lines->cgroup_limit_bytes = lines->direct_bytes = -1;
    while (span_take_line(&text, &line)) {
        line = span_trim(line);
        take_sentence(lines, line);
        if (file >= 0)
            take_file(lines, file, line);
        file = span_row(line, span_contains, SPAN_TABLE(FILES));
        if (file >= 0)
            take_file(lines, file, span_behind(line, FILES[file]));
        if (span_contains(line, SPAN_LITERAL("name=")))
            direct = is_direct_bean(line);
        struct span used = span_trim(span_behind(line, SPAN_LITERAL("MemoryUsed")));
        if (direct &&
            (span_take(&used, SPAN_LITERAL("=")) || span_take(&used, SPAN_LITERAL(":")))) {
            used = span_trim(used);
            span_take_unsigned(&used, &lines->direct_bytes);
        }
    }
}
