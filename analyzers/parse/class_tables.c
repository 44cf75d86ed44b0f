#include "analyzers/parse/class_tables.h"

#include <limits.h>

/* --- class loaders: VM.classloader_stats ------------------------------------------------------ */

/*
 * ClassLoader         Parent              CLD*               Classes   ChunkSz   BlockSz  Type
 * 0x0000000000000000  0x0000000000000000  0x00007f1cec12cf90    1078    557056    170804  <boot...>
 *                                                                 68     26880     18071   + hidden
 * Total = 5                                                     1178    598272    200535
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

/* --- class hierarchy -------------------------------------------------------------------------- */

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
static bool read_class(struct class_hierarchy_row *row, struct span line)
{
    *row = (struct class_hierarchy_row){.depth = take_depth(&line)};
    ptrdiff_t invokes = span_find(line, SPAN_LITERAL(" (invokes: "));
    if (invokes >= 0) {
        row->invokes = span_skip(line, (size_t)invokes);
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
    if (slash == NULL || slash == line.ptr)
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
        if (read_class(row, line)) {
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

/* --- classes ---------------------------------------------------------------------------------- */

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
static bool take_padded(struct span *line, size_t columns, struct span *word)
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
    *line = span_skip(*line, taken);
    return true;
}

static bool read_padded_row(struct classes_row *row, struct span line)
{
    *row = (struct classes_row){0};
    if (!span_take(&line, SPAN_LITERAL("0x")) || !span_take_hex(&line, &row->address))
        return false;
    while (span_take(&line, SPAN_LITERAL(" ")))
        ;
    if (!span_take_unsigned(&line, &row->size_words) || !span_take(&line, SPAN_LITERAL("  ")) ||
        !take_padded(&line, STATE_COLUMNS, &row->state) ||
        !take_padded(&line, FLAGS_COLUMNS, &row->flags))
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
        } else if (is_row && read_padded_row(row, line)) {
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

/* --- class histogram -------------------------------------------------------------------------- */

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

static bool read_instances_total(struct class_histogram_total *total, struct span line)
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
    if (open == NULL || open - name.ptr < 2 || open[-1] != ' ' || name.ptr[name.len - 1] != ')')
        return;
    size_t at = (size_t)(open - name.ptr);
    row->name.len = at - 1;
    row->module = span_of(open + 1, name.len - at - 2);
}

/* "99000000", or made readable by numfmt: "440M". */
static bool take_size(struct span *line, int64_t *bytes)
{
    struct span word;
    return span_take_word(line, &word) && java_size_take(&word, bytes) && word.len == 0;
}

static bool read_instances(struct class_histogram_row *row, struct span line)
{
    *row = (struct class_histogram_row){0};
    if (!take_number(&line, &row->rank) || !span_take(&line, SPAN_LITERAL(":")) ||
        !take_number(&line, &row->instances) || !take_size(&line, &row->bytes) ||
        !span_starts_with(line, SPAN_LITERAL(" ")))
        return false;
    row->name = span_trim(line);
    split_module(row);
    return row->name.len > 0;
}

static bool is_ranked(struct span content)
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
            return read_instances_total(&histogram->total, line)
                       ? false
                       : line_cursor_stop(lines, line, PARSE_MALFORMED);
        } else if (is_ranked(content)) {
            return read_instances(row, line) || line_cursor_stop(lines, line, PARSE_MALFORMED);
        } else {
            line_cursor_count_unknown(lines, line);
        }
    }
    lines->result = PARSE_INCOMPLETE;
    return false;
}

/* --- jmap -clstats ---------------------------------------------------------------------------- */

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
    *line = span_skip(*line, taken);
    return column;
}

static bool take_count(struct span *line, int64_t *value)
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

static bool read_jmap_row(struct span line, struct loader_stats_row *row)
{
    memset(row, 0, sizeof *row);
    row->kind = LOADER_OWN;
    if (!take_loader(&line, &row->loader_address) || !take_count(&line, &row->classes) ||
        !take_count(&line, &row->chunk_bytes) || !take_loader(&line, &row->parent_address))
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
        if (read_jmap_row(line, row))
            return true;
        line_cursor_count_unknown(&stats->lines, line);
    }
    if (stats->lines.result == PARSE_OK)
        stats->lines.result = stats->started ? PARSE_INCOMPLETE : PARSE_MALFORMED;
    return false;
}

/* --- methods by family ------------------------------------------------------------------------ */

/* "11 484": digits in groups of three, a blank between two groups. */
static bool take_grouped(struct span *text, int64_t *number)
{
    if (!span_take_unsigned(text, number))
        return false;
    for (;;) {
        struct span rest = *text;
        int64_t group;
        if (!span_take(&rest, SPAN_LITERAL(" ")) || rest.len < 3 ||
            !span_take_unsigned(&rest, &group) || text->len - rest.len != 4 ||
            *number > INT64_MAX / 1000 - 1)
            return true;
        *number = *number * 1000 + group;
        *text = rest;
    }
}

bool methods_table_is_heading(struct span line)
{
    return span_starts_with(line, SPAN_LITERAL("pid ")) &&
           span_contains(line, SPAN_LITERAL("): ")) &&
           span_contains(line, SPAN_LITERAL(" methods in ")) &&
           span_contains(line, SPAN_LITERAL(" class loaders"));
}

/* The command's name is the JVM's: what counts is behind the last parenthesis. */
static bool read_methods_heading(struct methods_table *table, struct span line)
{
    for (ptrdiff_t at; (at = span_find(line, SPAN_LITERAL("): "))) >= 0;)
        line = span_skip(line, (size_t)at + 3);
    bool good =
        take_grouped(&line, &table->methods) && span_take(&line, SPAN_LITERAL(" methods in ")) &&
        take_grouped(&line, &table->classes) && span_take(&line, SPAN_LITERAL(" classes of ")) &&
        take_grouped(&line, &table->loaders);
    table->by_agent = span_contains(line, SPAN_LITERAL("by the agent"));
    return good;
}

bool methods_table_begin(struct methods_table *table, struct span text)
{
    struct span line;
    bool headed = false;
    *table = (struct methods_table){text, -1, -1, -1, -1, -1, false};
    while (span_take_line(&table->rest, &line)) {
        line = span_trim(line);
        if (!headed && methods_table_is_heading(line))
            headed = read_methods_heading(table, line);
        if (span_take(&line, SPAN_LITERAL("Without the boot loader's: ")) &&
            take_grouped(&line, &table->own_methods) && span_take(&line, SPAN_LITERAL(" in ")))
            take_grouped(&line, &table->own_classes);
        if (span_starts_with(line, SPAN_LITERAL("classes ")) &&
            span_ends_with(line, SPAN_LITERAL(" family")))
            break;
    }
    return headed;
}

bool methods_table_next(struct methods_table *table, struct methods_row *row)
{
    struct span line, ignored;
    while (span_take_line(&table->rest, &line)) {
        line = span_trim(line);
        if (!take_grouped(&line, &row->classes))
            continue;
        line = span_trim(line);
        if (!take_grouped(&line, &row->methods))
            continue;
        line = span_trim(line);
        if (!span_take_word(&line, &ignored))
            continue;
        row->family = span_trim(line);
        if (row->family.len > 0)
            return true;
    }
    return false;
}
