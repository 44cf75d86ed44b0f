#include "analyzers/parse/jmap_clstats.h"

void jmap_clstats_begin(struct jmap_clstats *stats, struct span text)
{
    memset(stats, 0, sizeof *stats);
    line_cursor_begin(&stats->lines, text);
}

/* The text up to the next tab, trimmed; up to the next blank where a paste has lost its tabs. Empty
 * at the end of the line. */
static struct span take_column(struct span *line)
{
    size_t length = 0;
    bool tabs = line->len > 0 && memchr(line->ptr, '\t', line->len) != NULL;
    if (!tabs) {
        *line = span_trim(*line);
        if (line->len > 0 && line->ptr[0] == '<') /* "<boot class loader>" */
            while (length < line->len && line->ptr[length] != '>')
                length++;
    }
    while (length < line->len && line->ptr[length] != (tabs ? '\t' : ' '))
        length++;
    struct span column = span_trim(span_of(line->ptr, length));
    size_t taken = length < line->len ? length + 1 : length;
    *line = span_of(line->ptr + taken, line->len - taken);
    return column;
}

static bool take_number(struct span *line, int64_t *value)
{
    struct span column = take_column(line);
    return span_take_unsigned(&column, value) && column.len == 0;
}

static bool take_loader(struct span *line, uint64_t *address)
{
    struct span column = take_column(line);
    *address = 0;
    if (span_take(&column, SPAN_LITERAL("0x")))
        return span_take_hex(&column, address) && column.len == 0;
    return span_equals(column, SPAN_LITERAL("<bootstrap>")) ||
           span_equals(column, SPAN_LITERAL("<boot class loader>")) ||
           span_equals(column, SPAN_LITERAL("null"));
}

static bool read_row(struct span line, struct loader_stats_row *row)
{
    memset(row, 0, sizeof *row);
    row->kind = LOADER_OWN;
    if (!take_loader(&line, &row->loader_address) || !take_number(&line, &row->classes) ||
        !take_number(&line, &row->chunk_bytes) || !take_loader(&line, &row->parent_address))
        return false;
    struct span alive = take_column(&line);
    row->block_bytes = row->chunk_bytes;
    row->type = take_column(&line);
    ptrdiff_t at = span_find(row->type, SPAN_LITERAL("@0x"));
    if (at >= 0)
        row->type.len = (size_t)at;
    return span_equals(alive, SPAN_LITERAL("live")) || span_equals(alive, SPAN_LITERAL("dead"));
}

bool jmap_clstats_next(struct jmap_clstats *stats, struct loader_stats_row *row)
{
    struct span line;
    while (line_cursor_next(&stats->lines, &line)) {
        if (!stats->started) {
            stats->started = span_starts_with(span_trim(line), SPAN_LITERAL("class_loader")) &&
                             span_find(line, SPAN_LITERAL("classes")) > 0;
            continue;
        }
        if (span_trim(line).len == 0)
            continue;
        if (span_starts_with(line, SPAN_LITERAL("total = ")))
            return line_cursor_stop(&stats->lines, span_of(line.ptr + line.len, 0), PARSE_OK);
        if (read_row(line, row))
            return true;
        line_cursor_count_unknown(&stats->lines, line);
    }
    if (stats->lines.result == PARSE_OK)
        stats->lines.result = stats->started ? PARSE_INCOMPLETE : PARSE_MALFORMED;
    return false;
}
