#include "analyzers/parse/classloader_stats.h"

/*
 * ClassLoader         Parent              CLD*               Classes   ChunkSz   BlockSz  Type
 * 0x0000000000000000  0x0000000000000000  0x00007f1cec12cf90    1078    557056    170804  <boot
 * ...> 68     26880     18071   + hidden Total = 5 1178    598272    200535
 */

static bool take_address(struct span *text, uint64_t *address)
{
    *text = span_trim(*text);
    return span_take(text, SPAN_LITERAL("0x")) && span_take_hex(text, address);
}

static bool take_number(struct span *text, int64_t *number)
{
    *text = span_trim(*text);
    return span_take_unsigned(text, number);
}

static bool take_numbers(struct span *text, int64_t *classes, int64_t *chunk_bytes,
                         int64_t *block_bytes)
{
    return take_number(text, classes) && take_number(text, chunk_bytes) &&
           take_number(text, block_bytes);
}

static bool read_total(struct loader_stats_total *total, struct span line)
{
    total->present = span_take(&line, SPAN_LITERAL("Total =")) &&
                     take_number(&line, &total->loaders) &&
                     take_numbers(&line, &total->classes, &total->chunk_bytes, &total->block_bytes);
    return total->present;
}

static bool read_own_row(struct loader_stats_row *row, struct span line)
{
    *row = (struct loader_stats_row){.kind = LOADER_OWN};
    if (!take_address(&line, &row->loader_address) || !take_address(&line, &row->parent_address) ||
        !take_address(&line, &row->data_address) ||
        !take_numbers(&line, &row->classes, &row->chunk_bytes, &row->block_bytes))
        return false;
    row->type = span_trim(line);
    return true;
}

/* "+ hidden classes", "+ unsafe anonymous classes": numbers only, below their loader. */
static bool read_hidden_row(struct loader_stats_row *row, const struct loader_stats_row *above,
                            struct span line)
{
    *row = *above;
    row->kind = LOADER_HIDDEN;
    return take_numbers(&line, &row->classes, &row->chunk_bytes, &row->block_bytes) &&
           span_starts_with(span_trim(line), SPAN_LITERAL("+ "));
}

/* The lines that explain the columns, below the total. */
static void skip_legend(struct line_cursor *lines)
{
    struct span line;
    while (line_cursor_next(lines, &line)) {
        if (!span_starts_with(line, SPAN_LITERAL("ChunkSz:")) &&
            !span_starts_with(line, SPAN_LITERAL("BlockSz:"))) {
            line_cursor_give_back(lines, line);
            break;
        }
    }
    lines->result = PARSE_OK; /* half a legend line is no loss */
}

void classloader_stats_begin(struct classloader_stats *stats, struct span text)
{
    *stats = (struct classloader_stats){0};
    line_cursor_begin(&stats->lines, text);
}

bool classloader_stats_next(struct classloader_stats *stats, struct loader_stats_row *row)
{
    struct line_cursor *lines = &stats->lines;
    struct span line;
    if (lines->result != PARSE_OK || stats->total.present)
        return false;
    while (line_cursor_next(lines, &line)) {
        struct span content = span_trim(line);
        if (content.len == 0)
            continue;
        if (!stats->started) {
            if (!span_starts_with(content, SPAN_LITERAL("ClassLoader ")))
                return line_cursor_stop(lines, line, PARSE_MALFORMED);
            stats->started = true;
        } else if (span_starts_with(line, SPAN_LITERAL("Total"))) {
            if (!read_total(&stats->total, line))
                return line_cursor_stop(lines, line, PARSE_MALFORMED);
            skip_legend(lines);
            return false;
        } else if (span_starts_with(line, SPAN_LITERAL("0x"))) {
            if (!read_own_row(row, line))
                return line_cursor_stop(lines, line, PARSE_MALFORMED);
            stats->above = *row;
            return true;
        } else if (read_hidden_row(row, &stats->above, line)) {
            return true;
        } else {
            line_cursor_count_unknown(lines, line);
        }
    }
    lines->result = PARSE_INCOMPLETE;
    return false;
}
