#include "analyzers/parse/nmt_summary.h"

#include <stdio.h>

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
    struct span amounts = span_skip(line, (size_t)open + 2);
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

/* Before the first category: "Total:", its details, "(Omitting ...)". A line with a '=' is taken for
 * one of a newer JDK, any other for the reply of another command. */
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
    if (reader->row == NULL || !is_indented(line))
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
        if (summary->row_count == 0 || reader->row != NULL || is_indented(line) ||
            line.ptr[0] == '-')
            return PARSE_INCOMPLETE;
        break;
    }
    if (!nmt_row_has(&summary->total, NMT_ROW_RESERVED_BYTES))
        return rest->len ? PARSE_MALFORMED : PARSE_INCOMPLETE;
    if (reader->row != NULL)
        return PARSE_INCOMPLETE; /* the last block was not closed */
    if (summary->row_count > 0)
        return PARSE_OK;
    /* In MB and GB every category of a small JVM may round to zero. */
    bool may_be_empty = summary->scale_bytes > 1024 && nmt_summary_check_total(summary).holds;
    return may_be_empty ? PARSE_OK : PARSE_INCOMPLETE;
}

enum parse_result nmt_summary_parse(struct nmt_summary *summary, struct span text, size_t *consumed)
{
    /* All but the rows, which are cleared as they come: the whole is 26 KB, a poll's largest cost. */
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

/* --- pieces that somebody pasted -------------------------------------------------------------- */

#define PASTED_LINE_MAX 512

/* The name in front of "(reserved="; a dash in front says that it is one, else it has to be known. */
static bool category_name(struct span line, struct span *name, struct span *amounts)
{
    line = span_trim(line);
    bool dash = line.len > 1 && line.ptr[0] == '-';
    while (line.len > 0 && strchr("-*+ \t", line.ptr[0]) != NULL)
        line = span_skip(line, 1);
    ptrdiff_t open = span_find(line, SPAN_LITERAL("("));
    *name = span_trim(open < 0 ? line : span_of(line.ptr, (size_t)open));
    *amounts = open < 0 ? span_of(line.ptr, 0) : span_skip(line, (size_t)open + 1);
    if (name->len == 0 || name->len > 40)
        return false;
    bool reserved = span_starts_with(span_trim(*amounts), SPAN_LITERAL("reserved"));
    bool known = nmt_category_from_name(*name) != NMT_NOT_IN_TABLE;
    return reserved ? known || dash : known && dash;
}

bool nmt_is_category(struct span line)
{
    struct span name, amounts;
    return category_name(line, &name, &amounts);
}

bool nmt_is_total(struct span line)
{
    line = span_trim(line);
    return span_take(&line, SPAN_LITERAL("Total:")) &&
           span_starts_with(span_trim(line), SPAN_LITERAL("reserved"));
}

/* Blanks as the JVM sets them, "424KB, #1000" without its comma; what stands behind the last
 * parenthesis is a remark. */
static struct span as_printed(struct span line, char out[PASTED_LINE_MAX])
{
    size_t used = 0;
    line = span_trim(line);
    const char *close = line.len > 0 ? memrchr(line.ptr, ')', line.len) : NULL;
    if (close != NULL && line.ptr[0] == '(')
        line.len = (size_t)(close - line.ptr) + 1;
    for (size_t i = 0; i < line.len && used < PASTED_LINE_MAX; i++) {
        char c = line.ptr[i] == '\t' ? ' ' : line.ptr[i];
        if (c == ' ' && used > 0 && out[used - 1] == ' ')
            continue;
        if (c == '#' && used > 1 && out[used - 1] == ' ' && out[used - 2] == ',')
            out[--used - 1] = ' ';
        out[used++] = c;
    }
    return span_of(out, used);
}

/* "reserved=1KB +2KB, committed=3KB -4KB" and no more. */
static struct span amounts_only(struct span text)
{
    ptrdiff_t at = span_find(text, SPAN_LITERAL("committed="));
    if (at < 0)
        return text;
    size_t i = (size_t)at + 10;
    for (int part = 0; part < 2; part++) {
        while (i < text.len &&
               ((text.ptr[i] >= '0' && text.ptr[i] <= '9') || strchr("KMGB", text.ptr[i]) != NULL))
            i++;
        if (i + 2 >= text.len || text.ptr[i] != ' ' || strchr("+-", text.ptr[i + 1]) == NULL ||
            text.ptr[i + 2] < '0' || text.ptr[i + 2] > '9')
            break;
        i += 2;
    }
    return span_of(text.ptr, i);
}

static bool shows_delta(struct span text)
{
    return span_find(text, SPAN_LITERAL(" +")) >= 0 || span_find(text, SPAN_LITERAL(" -")) >= 0;
}

/* "reserved=1KB +2KB, committed=34": the text ends, or is broken into two lines, before the row does. A
 * category's ends with a parenthesis, the total with a unit. last: no line follows. */
static bool row_cut_off(struct span amounts, int64_t unit_bytes, bool total, bool last)
{
    if (memchr(amounts.ptr, ')', amounts.len) != NULL || (total && unit_bytes == 1))
        return false;
    amounts = span_trim(total ? amounts_only(amounts) : amounts);
    struct span committed = span_behind(amounts, SPAN_LITERAL("committed="));
    bool delta_missing = shows_delta(span_until(amounts, ",")) && !shows_delta(committed);
    return !span_ends_with(committed, SPAN_LITERAL("B")) ||
           (total ? last && delta_missing : last || delta_missing);
}

/* True: a number was given, with or without a unit. */
static bool read_pasted_amounts(struct nmt_row *row, struct span text, int64_t *unit_bytes)
{
    char line[PASTED_LINE_MAX];
    bool all_known;
    struct span amounts = as_printed(text, line);
    return nmt_row_read_amounts(row, amounts, unit_bytes, &all_known) ||
           nmt_row_read_amounts(row, amounts_only(amounts), unit_bytes, &all_known);
}

/* "reserved=24002848KB +17255840KB, commi": a row that was cut off. */
static bool read_front(struct nmt_row *row, struct span amounts)
{
    struct span front = span_trim(amounts);
    ptrdiff_t comma = span_find(front, SPAN_LITERAL(", "));
    char text[PASTED_LINE_MAX];
    int64_t unit_bytes;
    bool all_known;
    if (comma < 0 || comma > 200)
        return false;
    int length = snprintf(text, sizeof text, "%.*s, committed=0KB", (int)comma, front.ptr);
    if (!nmt_row_read_amounts(row, span_of(text, (size_t)length), &unit_bytes, &all_known))
        return false;
    row->present = UINT64_C(1) << NMT_ROW_RESERVED_BYTES;
    return true;
}

static void read_pasted_row(struct reader *reader, struct span name, struct span amounts,
                            struct span line, bool last, struct nmt_reading *reading)
{
    struct nmt_summary *summary = reader->summary;
    bool fits = summary->row_count < NMT_SUMMARY_ROWS_MAX;
    struct nmt_row *row = fits ? &summary->rows[summary->row_count] : &reader->no_room;
    int64_t unit_bytes;
    memset(row, 0, sizeof *row);
    reading->rows++;
    reader->row = NULL;
    row->name = name;
    row->category = nmt_category_from_name(name);
    if (!read_pasted_amounts(row, amounts, &unit_bytes) ||
        row_cut_off(amounts, unit_bytes, false, last)) {
        row->present = 0;
        count_unknown(summary, line);
        summary->row_count += fits && read_front(row, amounts); /* what was not cut off */
        return;
    }
    if (reading->rows_read++ == 0 && !reading->has_total)
        summary->scale_bytes = unit_bytes;
    summary->row_count += fits;
    summary->rows_dropped += !fits;
    reader->row = row;
    reader->section = NMT_SECTION_NONE;
}

static void read_pasted_total(struct reader *reader, struct span line, bool last,
                              struct nmt_reading *reading)
{
    struct nmt_summary *summary = reader->summary;
    struct span rest = span_trim(line);
    span_take(&rest, SPAN_LITERAL("Total:"));
    reader->row = NULL;
    rest = span_trim(rest);
    if (!read_pasted_amounts(&summary->total, rest, &summary->scale_bytes) ||
        row_cut_off(rest, summary->scale_bytes, true, last)) {
        memset(&summary->total, 0, sizeof summary->total); /* half a total is none */
        summary->scale_bytes = 1;
        count_unknown(summary, line);
        return;
    }
    summary->total.name = SPAN_LITERAL("Total");
    summary->total.category = NMT_NOT_IN_TABLE;
    reading->has_total = true;
    reader->row = &summary->total;
}

/* A line below a row; true also when it is one that cannot be read, which is counted. */
static void read_pasted_detail(struct reader *reader, struct span line)
{
    char buffer[PASTED_LINE_MAX];
    struct span content = as_printed(line, buffer);
    if (reader->row == NULL || content.len == 0)
        return;
    bool total = reader->row == &reader->summary->total;
    bool cut_off = content.ptr[0] == '(' && memchr(content.ptr, ')', content.len) == NULL;
    if (!cut_off && nmt_row_read_line(reader->row, &reader->section, content))
        return;
    const char *close = memchr(content.ptr, ')', content.len); /* a remark with parentheses */
    if (close != NULL && nmt_row_read_line(reader->row, &reader->section,
                                           span_of(content.ptr, (size_t)(close - content.ptr) + 1)))
        return;
    if (content.ptr[0] == '(' || content.ptr[0] == ':') {
        if (!total)
            count_unknown(reader->summary, line);
    } else {
        reader->row = NULL; /* words between the rows */
    }
}

bool nmt_summary_read(struct nmt_summary *summary, struct span text, struct nmt_reading *reading)
{
    memset(summary, 0, sizeof *summary);
    *reading = (struct nmt_reading){0};
    summary->scale_bytes = 1;
    struct reader reader = {.summary = summary};
    struct span line, name, amounts;
    while (span_take_line(&text, &line)) {
        struct span content = span_trim(line);
        if (content.len == 0)
            continue;
        if (span_starts_with(content, SPAN_LITERAL("[0x")) ||
            span_equals(content, SPAN_LITERAL("Virtual memory map:")) ||
            span_equals(content, SPAN_LITERAL("Details:")))
            break; /* what follows is not of the summary */
        if (!reading->has_total && nmt_is_total(content))
            read_pasted_total(&reader, line, text.len == 0, reading);
        else if (category_name(content, &name, &amounts))
            read_pasted_row(&reader, name, amounts, line, text.len == 0, reading);
        else
            read_pasted_detail(&reader, line);
    }
    reading->first_unread = summary->first_unknown;
    summary->is_diff = is_diff(summary);
    return reading->has_total || reading->rows_read > 0;
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
