#include "analyzers/parse/nmt_summary.h"

const struct nmt_row *nmt_summary_row(const struct nmt_summary *summary, enum nmt_category category)
{
    for (int i = 0; i < summary->row_count; i++)
        if (summary->rows[i].category == category)
            return &summary->rows[i];
    return NULL;
}

struct reader {
    struct nmt_summary *summary;
    struct nmt_row *row;    /* whose lines are being read; NULL between blocks */
    struct nmt_row no_room; /* takes the lines of a row that is dropped */
    enum nmt_section section;
};

static void count_unknown(struct nmt_summary *summary, struct span line)
{
    if (summary->unknown_lines++ == 0)
        summary->first_unknown = line;
}

static bool read_total(struct reader *reader, struct span content)
{
    struct nmt_summary *summary = reader->summary;
    struct span text = content;
    bool all_known;
    span_take(&text, SPAN_LITERAL("Total:"));
    if (!nmt_row_read_amounts(&summary->total, span_trim(text), &summary->scale_bytes, &all_known))
        return false;
    if (!all_known)
        count_unknown(summary, content);
    summary->total.name = SPAN_LITERAL("Total");
    summary->total.category = NMT_NOT_IN_TABLE;
    return true;
}

/* "-                     Class (reserved=1048792KB, committed=600KB)" */
static bool read_category(struct reader *reader, struct span line)
{
    struct nmt_summary *summary = reader->summary;
    ptrdiff_t open = span_find(line, SPAN_LITERAL(" (reserved="));
    if (open < 1)
        return false;
    bool fits = summary->row_count < NMT_SUMMARY_ROWS_MAX;
    struct nmt_row *row = fits ? &summary->rows[summary->row_count] : &reader->no_room;
    memset(row, 0, sizeof *row);
    row->name = span_trim(span_of(line.ptr + 1, (size_t)open - 1));
    struct span amounts = span_of(line.ptr + open + 2, line.len - (size_t)open - 2);
    int64_t unit_bytes;
    bool all_known;
    if (row->name.len == 0 || !nmt_row_read_amounts(row, amounts, &unit_bytes, &all_known))
        return false;
    if (!all_known)
        count_unknown(summary, line);
    row->category = nmt_category_from_name(row->name);
    summary->row_count += fits;
    summary->rows_dropped += !fits;
    reader->row = row;
    reader->section = NMT_SECTION_NONE;
    return true;
}

static bool is_indented(struct span line)
{
    return line.len > 0 && (line.ptr[0] == ' ' || line.ptr[0] == '\t');
}

enum line_verdict { LINE_TAKEN, LINE_FOREIGN, LINE_MALFORMED };

/* Before the first category: "Total:", its details, "(Omitting ...)". What carries a '=' is taken
 * for a line of a JDK to come, anything else for the reply of another command. */
static enum line_verdict read_head_line(struct reader *reader, struct span line,
                                        struct span content)
{
    if (span_starts_with(content, SPAN_LITERAL("Total:")))
        return read_total(reader, content) ? LINE_TAKEN : LINE_MALFORMED;
    if (span_starts_with(content, SPAN_LITERAL("(Omitting ")) ||
        nmt_row_read_line(&reader->summary->total, &reader->section, content))
        return LINE_TAKEN;
    if (!is_indented(line) && span_find(content, SPAN_LITERAL("=")) < 0)
        return LINE_FOREIGN;
    count_unknown(reader->summary, line);
    return LINE_TAKEN;
}

static enum line_verdict read_line(struct reader *reader, struct span line)
{
    struct span content = span_trim(line);
    if (content.len == 0) {
        reader->row = NULL;
        return LINE_TAKEN;
    }
    if (span_starts_with(line, SPAN_LITERAL("- ")))
        return read_category(reader, line) ? LINE_TAKEN : LINE_MALFORMED;
    if (reader->summary->row_count == 0)
        return read_head_line(reader, line, content);
    if (!reader->row || !is_indented(line))
        return LINE_FOREIGN;
    if (!nmt_row_read_line(reader->row, &reader->section, line))
        count_unknown(reader->summary, line);
    return LINE_TAKEN;
}

static bool is_pid_line(struct span line)
{
    int64_t pid;
    return span_take_i64(&line, &pid) && (line.len == 0 || span_equals(line, SPAN_LITERAL(":")));
}

/* A text without the header is no summary, unless it ends so early that it may still become one. */
static enum parse_result find_header(struct span *rest)
{
    struct span header = SPAN_LITERAL("Native Memory Tracking:"), line;
    enum parse_result result = PARSE_INCOMPLETE;
    bool terminated;
    while (span_next_line(rest, &line, &terminated)) {
        line = span_trim(line);
        if (terminated && span_equals(line, header))
            return PARSE_OK;
        if (line.len > 0 && !is_pid_line(line) && (terminated || !span_starts_with(header, line)))
            result = PARSE_MALFORMED;
    }
    return result;
}

static bool has_delta(const struct nmt_row *row)
{
    for (int field = 0; field < NMT_ROW_FIELD_COUNT; field++)
        if (nmt_row_has(row, field) && row->delta[field] != 0)
            return true;
    return false;
}

static bool is_diff(const struct nmt_summary *summary)
{
    bool found = has_delta(&summary->total);
    for (int i = 0; !found && i < summary->row_count; i++)
        found = has_delta(&summary->rows[i]);
    return found;
}

static enum parse_result read_lines(struct reader *reader, struct span *rest)
{
    struct nmt_summary *summary = reader->summary;
    struct span line, before = *rest;
    bool terminated;
    for (; span_next_line(rest, &line, &terminated); before = *rest) {
        enum line_verdict verdict = terminated ? read_line(reader, line) : LINE_FOREIGN;
        if (verdict == LINE_TAKEN && summary->row_count > 0 &&
            !nmt_row_has(&summary->total, NMT_ROW_RESERVED_BYTES))
            verdict = LINE_MALFORMED; /* categories without a total */
        if (verdict == LINE_TAKEN)
            continue;
        *rest = before;
        if (verdict == LINE_MALFORMED)
            return PARSE_MALFORMED;
        if (terminated)
            break;
        /* half a line: of the next command when it cannot be ours */
        if (summary->row_count == 0 || reader->row || is_indented(line) || line.ptr[0] == '-')
            return PARSE_INCOMPLETE;
        break;
    }
    if (!nmt_row_has(&summary->total, NMT_ROW_RESERVED_BYTES))
        return rest->len ? PARSE_MALFORMED : PARSE_INCOMPLETE;
    if (reader->row)
        return PARSE_INCOMPLETE; /* the last block was not closed */
    if (summary->row_count > 0)
        return PARSE_OK;
    /* In MB and GB every category of a small JVM may round to zero. */
    bool may_be_empty = summary->scale_bytes > 1024 && nmt_summary_check_total(summary).holds;
    return may_be_empty ? PARSE_OK : PARSE_INCOMPLETE;
}

enum parse_result nmt_summary_parse(struct nmt_summary *summary, struct span text, size_t *consumed)
{
    /* All but the rows, which are cleared as they come: the whole is 26 KB, a poll's largest cost.
     */
    memset(summary, 0, offsetof(struct nmt_summary, rows));
    summary->rows_dropped = summary->unknown_lines = 0;
    summary->first_unknown = span_of(NULL, 0);
    summary->scale_bytes = 1;
    struct span rest = text;
    enum parse_result result = find_header(&rest);
    if (result != PARSE_OK) {
        *consumed = 0;
        return result;
    }
    struct reader reader = {.summary = summary};
    result = read_lines(&reader, &rest);
    *consumed = text.len - rest.len;
    summary->is_diff = is_diff(summary);
    return result;
}

static bool within(int64_t gap, int64_t tolerance)
{
    return gap <= tolerance && gap >= -tolerance;
}

struct nmt_total_check nmt_summary_check_total(const struct nmt_summary *summary)
{
    const struct nmt_row *total = &summary->total;
    struct nmt_total_check check = {
        .one_snapshot = nmt_row_has(total, NMT_ROW_MALLOC_PEAK_BYTES),
        .reserved_gap_bytes = total->value[NMT_ROW_RESERVED_BYTES],
        .committed_gap_bytes = total->value[NMT_ROW_COMMITTED_BYTES],
    };
    bool overflow = false;
    for (int i = 0; i < summary->row_count; i++) {
        const int64_t *value = summary->rows[i].value;
        overflow |= __builtin_sub_overflow(check.reserved_gap_bytes, value[NMT_ROW_RESERVED_BYTES],
                                           &check.reserved_gap_bytes);
        overflow |= __builtin_sub_overflow(
            check.committed_gap_bytes, value[NMT_ROW_COMMITTED_BYTES], &check.committed_gap_bytes);
    }
    int categories = summary->row_count;
    if (categories < NMT_CATEGORY_COUNT)
        categories = NMT_CATEGORY_COUNT; /* those that rounded to zero are not printed */
    check.tolerance_bytes = summary->scale_bytes / 2 * (categories + 1);
    if (!check.one_snapshot)
        check.tolerance_bytes += NMT_RACE_BYTES;
    check.holds = !overflow && nmt_row_has(total, NMT_ROW_RESERVED_BYTES) &&
                  summary->rows_dropped == 0 &&
                  within(check.reserved_gap_bytes, check.tolerance_bytes) &&
                  within(check.committed_gap_bytes, check.tolerance_bytes);
    return check;
}
