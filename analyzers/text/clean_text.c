#include "analyzers/text/clean_text.h"

#include "analyzers/model/texts.h"
#include "analyzers/text/text_lines.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_MAX  8
#define INDENT_MIN  2 /* a block's; of the whole text one blank is enough */
#define NESTED_ROWS 6 /* so many lines with a blank one behind each are doubled ones */
#define FOLDS_MIN   2

static const char *const WORDS[REMOVED_COUNT] = {
#define REMOVED(id, words) [REMOVED_##id] = words,
#include "analyzers/text/removed.def"
};

void clean_text_words(const struct clean_text *clean, char *words, size_t size)
{
    size_t used = 0;
    words[0] = '\0';
    for (int i = 0; i < REMOVED_COUNT; i++) {
        if (clean->removed[i] == 0)
            continue;
        int more = snprintf(words + used, size - used, "%s%s", used > 0 ? ", " : "", WORDS[i]);
        if (more < 0 || used + (size_t)more >= size) {
            words[used] = '\0';
            return;
        }
        used += (size_t)more;
    }
}

/* --- encoding --------------------------------------------------------------------------------- */

enum encoding { ENCODING_PLAIN, ENCODING_UTF8_BOM, ENCODING_UTF16_LE, ENCODING_UTF16_BE };

static enum encoding encoding_of(struct span raw)
{
    const unsigned char *byte = (const unsigned char *)raw.ptr;
    if (raw.len >= 3 && byte[0] == 0xef && byte[1] == 0xbb && byte[2] == 0xbf)
        return ENCODING_UTF8_BOM;
    if (raw.len >= 2 && byte[0] == 0xff && byte[1] == 0xfe)
        return ENCODING_UTF16_LE;
    if (raw.len >= 2 && byte[0] == 0xfe && byte[1] == 0xff)
        return ENCODING_UTF16_BE;
    size_t seen = raw.len < 512 ? raw.len / 2 : 256, low = 0, high = 0;
    for (size_t i = 0; i < seen; i++) {
        low += byte[2 * i] != 0 && byte[2 * i + 1] == 0;
        high += byte[2 * i] == 0 && byte[2 * i + 1] != 0;
    }
    if (seen >= 16 && low * 10 >= seen * 9)
        return ENCODING_UTF16_LE;
    return seen >= 16 && high * 10 >= seen * 9 ? ENCODING_UTF16_BE : ENCODING_PLAIN;
}

bool clean_text_is_utf16(struct span raw)
{
    enum encoding encoding = encoding_of(raw);
    return encoding == ENCODING_UTF16_LE || encoding == ENCODING_UTF16_BE;
}

static struct span decode_utf16(struct text_lines *lines, struct span raw, bool big)
{
    const unsigned char *byte = (const unsigned char *)raw.ptr;
    char *out = text_lines_room(lines, raw.len / 2 * 3 + 4);
    size_t used = 0;
    for (size_t i = 0; out != NULL && i + 1 < raw.len; i += 2) {
        uint32_t code =
            big ? (uint32_t)byte[i] << 8 | byte[i + 1] : (uint32_t)byte[i + 1] << 8 | byte[i];
        uint32_t next = 0;
        if (i + 3 < raw.len)
            next = big ? (uint32_t)byte[i + 2] << 8 | byte[i + 3]
                       : (uint32_t)byte[i + 3] << 8 | byte[i + 2];
        if (code == 0xfeff)
            continue;
        if (code >= 0xd800 && code < 0xdc00 && next >= 0xdc00 && next < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (next - 0xdc00);
            i += 2;
        }
        used += utf8_put(out + used, code);
    }
    return span_of(out, out == NULL ? 0 : used);
}

static struct span decode(struct text_lines *lines, struct span raw)
{
    enum encoding encoding = encoding_of(raw);
    if (encoding == ENCODING_PLAIN)
        return raw;
    lines->removed[REMOVED_ENCODING] = 1;
    if (encoding == ENCODING_UTF8_BOM)
        return span_skip(raw, 3);
    return decode_utf16(lines, raw, encoding == ENCODING_UTF16_BE);
}

/* --- lines ------------------------------------------------------------------------------------ */

static size_t count_of(struct span text, struct span what)
{
    size_t count = 0;
    ptrdiff_t at;
    while ((at = span_find(text, what)) >= 0) {
        count++;
        text = span_skip(text, (size_t)at + what.len);
    }
    return count;
}

/* A text in one line, its line ends written "\n": more of these than of real ones, and no sign of
 * paths of Windows, where a backslash stands before other letters. */
static bool is_escaped(struct span text)
{
    size_t real = count_of(text, SPAN_LITERAL("\n"));
    if (real > 40 || text.len > CLEAN_TEXT_MAX || json_holds_texts(text))
        return false;
    size_t escaped = count_of(text, SPAN_LITERAL("\\n"));
    ptrdiff_t drive = span_find(text, SPAN_LITERAL(":\\"));
    bool plain = text.len > 0 && (drive < 1 || !is_letter(text.ptr[drive - 1]));
    size_t fewest = plain && text.len < 4096 ? 1 : 4;
    if (real <= 2 && escaped >= fewest && escaped * 400 >= text.len)
        return true;
    return escaped >= 4 && escaped > 2 * real && escaped * 2 >= count_of(text, SPAN_LITERAL("\\"));
}

static void split_escaped(struct text_lines *lines, struct span text)
{
    struct span line;
    int64_t number = 0;
    while (span_take_line(&text, &line) && !lines->failed) {
        number++;
        char *out = text_lines_room(lines, line.len + 1);
        size_t used = 0;
        if (out == NULL)
            return;
        for (size_t i = 0; i < line.len; i++) {
            char next = i + 1 < line.len ? line.ptr[i + 1] : '\0';
            bool escape = line.ptr[i] == '\\' && next != '\0' && strchr("ntr\"\\", next) != NULL;
            if (escape) {
                i++;
                lines->removed[REMOVED_ESCAPED_LINES] += next == 'n';
                if (next != 'r')
                    out[used++] = (char)(next == 'n' ? '\n' : next == 't' ? '\t' : next);
            } else {
                out[used++] = line.ptr[i];
            }
        }
        struct span rest = span_of(out, used), inner;
        while (span_take_line(&rest, &inner))
            text_lines_add(lines, inner, number);
    }
}

/* More lines end with a carriage return alone than with anything else. */
static bool ends_in_returns(struct span text)
{
    size_t alone = 0, others = 0;
    for (size_t i = 0; i < text.len; i++) {
        others += text.ptr[i] == '\n';
        alone += text.ptr[i] == '\r' && (i + 1 == text.len || text.ptr[i + 1] != '\n');
    }
    return alone > others;
}

static const char *next_end(struct span text)
{
    size_t i = 0;
    while (i < text.len && text.ptr[i] != '\n' && text.ptr[i] != '\r')
        i++;
    return i < text.len ? text.ptr + i : NULL;
}

static void split(struct text_lines *lines, struct span text)
{
    int64_t number = 0;
    bool mac = ends_in_returns(text);
    while (text.len > 0 && !lines->failed) {
        const char *end = mac ? next_end(text) : memchr(text.ptr, '\n', text.len);
        size_t length = end == NULL ? text.len : (size_t)(end - text.ptr);
        struct span line = span_of(text.ptr, length);
        while (line.len > 0 && line.ptr[line.len - 1] == '\r')
            line.len--;
        lines->removed[REMOVED_CARRIAGE_RETURN] +=
            line.len < length || (end != NULL && *end == '\r');
        struct span content = span_trim(line);
        if (content.len > 0 && content.ptr + content.len < line.ptr + line.len) {
            line.len = (size_t)(content.ptr + content.len - line.ptr);
            lines->removed[REMOVED_TRAILING]++;
        }
        text_lines_add(lines, line, ++number);
        size_t taken = end == NULL ? length : length + 1;
        text = span_skip(text, taken);
    }
}

/* --- marks and blank lines -------------------------------------------------------------------- */

static bool is_blank(const struct text_line *line)
{
    return span_trim(line->text).len == 0;
}

/* "text" and "java {.numberLines}" behind a fence; a row of the text has more words or other signs. */
static bool is_language(struct span text)
{
    text = span_trim(text);
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(" :=()", text.ptr[i]) != NULL)
            return i > 0 && i + 1 < text.len && text.ptr[i] == ' ' && text.ptr[i + 1] == '{';
    }
    return text.len < 40;
}

/* "|---|:--:|", below the head of a table. */
static bool is_table_rule(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr("|-: ", text.ptr[i]) == NULL)
            return false;
    }
    return text.len > 4 && text.ptr[0] == '|' && span_find(text, SPAN_LITERAL("---")) > 0;
}

/* "```text", "~~~", "/" "**", "*" "/", "{noformat}", "[code]": a blank line instead. */
static bool is_mark(struct span text)
{
    static const struct span starts[] = {SPAN_INIT("```"), SPAN_INIT("~~~")};
    static const struct span wholes[] = {
        SPAN_INIT("/*"),         SPAN_INIT("/**"),    SPAN_INIT("*/"),      SPAN_INIT("**/"),
        SPAN_INIT("{noformat}"), SPAN_INIT("{code}"), SPAN_INIT("[code]"),  SPAN_INIT("[/code]"),
        SPAN_INIT("<!--"),       SPAN_INIT("-->"),    SPAN_INIT("[quote]"), SPAN_INIT("[/quote]"),
        SPAN_INIT("{quote}"),
    };
    text = span_trim(text);
    if (span_row(text, span_starts_with, SPAN_TABLE(starts)) >= 0 &&
        is_language(span_skip(text, starts[0].len)))
        return true;
    return is_table_rule(text) || span_row(text, span_equals, SPAN_TABLE(wholes)) >= 0 ||
           (span_starts_with(text, SPAN_LITERAL("{code:")) && text.len < 40);
}

/* "reserved=1KB)```": the fence was closed behind the last row. */
static bool take_marks(struct text_lines *lines)
{
    bool any = false;
    for (size_t i = 0; i < lines->count; i++) {
        struct text_line *line = &lines->lines[i];
        if (line->gone || line->text.len < 2)
            continue;
        struct span text = span_trim(line->text);
        if (is_mark(line->text))
            line->text.len = 0;
        else if (span_starts_with(text,
                                  SPAN_LITERAL("```"))) /* its first row is behind the fence */
            line->text = span_skip(text, 3);
        else if (text.len > 3 && span_ends_with(text, SPAN_LITERAL("```")))
            line->text =
                span_of(line->text.ptr, (size_t)(text.ptr - line->text.ptr) + text.len - 3);
        else
            continue;
        lines->removed[REMOVED_FENCE]++;
        any = true;
    }
    return any;
}

static void drop_gone(struct text_lines *lines)
{
    size_t kept = 0;
    for (size_t i = 0; i < lines->count; i++) {
        if (!lines->lines[i].gone)
            lines->lines[kept++] = lines->lines[i];
    }
    lines->count = kept;
}

/* A blank line behind each line: one of them goes. */
static bool take_doubled(struct text_lines *lines)
{
    int64_t rows = 0, alone = 0;
    for (size_t i = 0; i < lines->count; i++) {
        if (is_blank(&lines->lines[i]))
            continue;
        rows++;
        alone += i + 1 == lines->count || is_blank(&lines->lines[i + 1]);
    }
    if (rows < NESTED_ROWS || alone * 50 < rows * 49)
        return false;
    for (size_t i = 0; i + 1 < lines->count; i++) {
        if (is_blank(&lines->lines[i + 1])) {
            lines->lines[i + 1].gone = true;
            lines->removed[REMOVED_BLANK_LINES]++;
            i++;
        }
    }
    drop_gone(lines);
    return true;
}

/* --- rows that were broken at a width --------------------------------------------------------- */

static size_t skip_number(struct span text, size_t i)
{
    while (i < text.len && text.ptr[i] == ' ')
        i++;
    size_t begin = i;
    while (i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9')
        i++;
    return i > begin ? i : text.len;
}

/* Of a class histogram: "   1:         13        520  com.acme.Or". */
static bool is_ranked(struct span text)
{
    size_t i = skip_number(text, 0);
    if (i >= text.len || text.ptr[i] != ':')
        return false;
    i = skip_number(text, skip_number(text, i + 1));
    return i + 1 < text.len && text.ptr[i] == ' ';
}

/* What may follow a name that was broken: neither a row nor a line below the rows. */
static bool is_rest_of_name(struct span text)
{
    static const struct span OTHERS[] = {SPAN_INIT("Total"), SPAN_INIT("---"), SPAN_INIT("num ")};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
        if (span_starts_with(text, OTHERS[i]))
            return false;
    }
    size_t end = 0;
    while (end < text.len && text.ptr[end] != ' ')
        end++;
    bool module = end + 1 < text.len && text.ptr[end + 1] == '('; /* " (java.base@17)" */
    return end > 0 && (end == text.len || module) && text.ptr[end - 1] != ':';
}

static size_t broken_rows(const struct text_lines *lines, size_t width)
{
    size_t count = 0;
    for (size_t i = 0; i + 1 < lines->count; i++) {
        const struct text_line *line = &lines->lines[i];
        count += line->text.len == width && is_ranked(line->text) && is_rest_of_name(line[1].text);
    }
    return count;
}

/* The width is that of the longest rows; one long name and a word behind it are no proof. */
static bool take_folds(struct text_lines *lines)
{
    size_t width = 0;
    for (size_t i = 0; i < lines->count; i++) {
        if (lines->lines[i].text.len > width && is_ranked(lines->lines[i].text))
            width = lines->lines[i].text.len;
    }
    if (width == 0 || broken_rows(lines, width) < FOLDS_MIN)
        return false;
    for (size_t i = 0; i + 1 < lines->count && !lines->failed; i++) {
        struct text_line *row = &lines->lines[i], *rest = row + 1;
        if (row->text.len != width || !is_ranked(row->text) || !is_rest_of_name(rest->text))
            continue;
        char *whole = text_lines_room(lines, row->text.len + rest->text.len);
        if (whole == NULL)
            return false;
        memcpy(whole, row->text.ptr, row->text.len);
        memcpy(whole + row->text.len, rest->text.ptr, rest->text.len);
        row->text = span_of(whole, row->text.len + rest->text.len);
        rest->gone = true;
        lines->removed[REMOVED_FOLD]++;
        i++;
    }
    drop_gone(lines);
    return true;
}

/* --- indentation ------------------------------------------------------------------------------ */

static size_t indent_of(struct span text)
{
    size_t i = 0;
    while (i < text.len && (text.ptr[i] == ' ' || text.ptr[i] == '\t'))
        i++;
    return i;
}

static bool dedent(struct text_lines *lines, size_t first, size_t end, size_t indent)
{
    bool any = false;
    for (size_t i = first; i < end; i++) {
        struct span *text = &lines->lines[i].text;
        size_t take = indent_of(*text) < indent ? indent_of(*text) : indent;
        if (take == 0)
            continue;
        *text = span_skip(*text, take);
        lines->removed[REMOVED_INDENT]++;
        any = true;
    }
    return any;
}

/* The least of the lines' own. */
static size_t least_indent(const struct text_lines *lines, size_t first, size_t end)
{
    size_t least = SIZE_MAX;
    for (size_t i = first; i < end; i++) {
        if (is_blank(&lines->lines[i]))
            continue;
        size_t indent = indent_of(lines->lines[i].text);
        least = indent < least ? indent : least;
    }
    return least == SIZE_MAX ? 0 : least;
}

/* The whole text; else each block between blank lines whose lines are all indented, as Markdown
 * marks code. The blocks of one indentation go together: detailed rows keep theirs. */
static bool take_indent(struct text_lines *lines)
{
    size_t least = least_indent(lines, 0, lines->count);
    if (least > 0)
        return dedent(lines, 0, lines->count, least);
    bool any = false;
    for (size_t i = 0; i < lines->count; i++) {
        size_t indent = indent_of(lines->lines[i].text);
        bool starts = i == 0 || is_blank(&lines->lines[i - 1]);
        if (!starts || is_blank(&lines->lines[i]) ||
            (indent < INDENT_MIN && (indent == 0 || lines->lines[i].text.ptr[0] != '\t')))
            continue;
        size_t end = i;
        int rows = 0;
        while (end < lines->count &&
               (is_blank(&lines->lines[end]) || indent_of(lines->lines[end].text) >= indent)) {
            rows += !is_blank(&lines->lines[end]);
            end++;
        }
        bool closed = end == lines->count || is_blank(&lines->lines[end - 1]);
        if (closed && rows >= 3)
            any = dedent(lines, i, end, indent) || any;
        i = end > i ? end - 1 : i;
    }
    return any;
}

/* --- remarks and numbers ---------------------------------------------------------------------- */

/* "<--- here", "<== this", an arrow. */
static bool take_remark(struct text_line *line)
{
    static const struct span marks[] = {SPAN_INIT("<--"),          SPAN_INIT("<=="),
                                        SPAN_INIT("<<<"),          SPAN_INIT("\xe2\x86\x90"),
                                        SPAN_INIT("\xe2\x9f\xb5"), SPAN_INIT("\xe2\xac\x85")};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        ptrdiff_t at = span_find(line->text, marks[i]);
        if (at <= 0)
            continue;
        struct span rest = span_of(line->text.ptr, (size_t)at);
        struct span row = span_trim(rest);
        if (row.len == 0)
            continue;
        line->text = span_of(rest.ptr, (size_t)(row.ptr + row.len - rest.ptr));
        return true;
    }
    return false;
}

/* Whether the numbers of a line may have separators: rows of NMT, of histograms, of VM.metaspace */
static bool has_row_numbers(struct span text)
{
    static const struct span marks[] = {
        SPAN_INIT("reserved"), SPAN_INIT("committed"), SPAN_INIT("malloc="),
        SPAN_INIT("malloc:"),  SPAN_INIT("arena="),    SPAN_INIT("waste"),
        SPAN_INIT("used"),     SPAN_INIT("free"),      SPAN_INIT("overhead")};
    struct span rest = span_trim(text);
    int64_t number;
    return span_row(text, span_contains, SPAN_TABLE(marks)) >= 0 ||
           (span_take_unsigned(&rest, &number) && rest.len > 8 && rest.ptr[0] == ':' &&
            rest.ptr[1] == ' ') ||
           span_starts_with(rest, SPAN_LITERAL("Total "));
}

/* The bytes of a separator between groups of three digits. A blank is one only between '=' or a sign and a
 * unit: "committed=1 317 037KB". */
static bool is_separator(char c)
{
    return c == ',' || c == '.' || c == '\'' || c == '_';
}

/* A number in groups, from its first digit: where it ends; 0: it is none. Only whole groups. */
static size_t grouped_end(struct span text, size_t i)
{
    size_t start = i, groups = 0;
    while (i < text.len && is_digit(text.ptr[i]))
        i++;
    if (i - start == 0 || i - start > 3 || (text.ptr[start] == '0' && i - start > 1))
        return 0;
    char separator = i < text.len ? text.ptr[i] : '\0';
    bool blank = separator == ' ' && start > 0 && strchr("=+-", text.ptr[start - 1]) != NULL;
    if (!is_separator(separator) && !blank)
        return 0;
    while (i + 3 < text.len + 0 && text.ptr[i] == separator && is_digit(text.ptr[i + 1]) &&
           is_digit(text.ptr[i + 2]) && is_digit(text.ptr[i + 3])) {
        i += 4;
        groups++;
        if (i >= text.len)
            break;
    }
    bool ends = i >= text.len || !is_digit(text.ptr[i]);
    if (blank) {
        struct span unit = span_skip(text, i + 1 < text.len ? i + 1 : text.len);
        ends = unit.len > 0 && strchr("KMG", text.ptr[i]) != NULL && unit.ptr[0] == 'B';
    }
    return groups > 0 && ends ? i : 0;
}

static bool ends_with_unit(struct span text, size_t i)
{
    struct span rest = span_skip(text, i);
    static const struct span units[] = {SPAN_INIT("KB"),  SPAN_INIT("MB"),     SPAN_INIT("GB"),
                                        SPAN_INIT("%"),   SPAN_INIT(" KB"),    SPAN_INIT(" MB"),
                                        SPAN_INIT(" GB"), SPAN_INIT(" bytes"), SPAN_INIT("K ")};
    return span_row(rest, span_starts_with, SPAN_TABLE(units)) >= 0;
}

/* "1.5 MB" and "0.500%" have a point that stays: groups by points are numbers in front of a unit
 * without a blank, or of several groups. */
static bool is_grouped(struct span text, size_t start, size_t end)
{
    size_t i = start;
    while (is_digit(text.ptr[i]))
        i++;
    if (text.ptr[i] != '.' && text.ptr[i] != ',')
        return true;
    bool several = end - i > 4;
    if (several || text.ptr[i] == ',')
        return true;
    struct span rest = span_skip(text, end);
    return span_starts_with(rest, SPAN_LITERAL("KB")) || span_starts_with(rest, SPAN_LITERAL("MB"));
}

static bool take_digit_groups(struct text_lines *lines, struct text_line *line)
{
    struct span text = line->text;
    bool candidate = false;
    for (size_t i = 1; i + 1 < text.len && !candidate; i++)
        candidate = (is_separator(text.ptr[i]) || text.ptr[i] == ' ') &&
                    is_digit(text.ptr[i - 1]) && is_digit(text.ptr[i + 1]);
    if (!candidate || !has_row_numbers(text) || span_find(text, SPAN_LITERAL("[0x")) >= 0)
        return false;
    char *out = text_lines_room(lines, text.len);
    size_t used = 0;
    bool any = false;
    for (size_t i = 0; out != NULL && i < text.len;) {
        bool starts =
            is_digit(text.ptr[i]) &&
            (i == 0 || !(is_digit(text.ptr[i - 1]) || is_separator(text.ptr[i - 1]) ||
                         ((text.ptr[i - 1] | 0x20) >= 'a' && (text.ptr[i - 1] | 0x20) <= 'z')));
        size_t end = starts ? grouped_end(text, i) : 0;
        if (end > 0 && is_grouped(text, i, end)) {
            for (; i < end; i++) {
                if (is_digit(text.ptr[i]))
                    out[used++] = text.ptr[i];
            }
            any = true;
            continue;
        }
        bool decimal = text.ptr[i] == ',' && i > 0 && is_digit(text.ptr[i - 1]) &&
                       i + 1 < text.len && is_digit(text.ptr[i + 1]);
        if (decimal) {
            size_t stop = i + 1;
            while (stop < text.len && is_digit(text.ptr[stop]))
                stop++;
            decimal = stop - i <= 3 && ends_with_unit(text, stop);
        }
        out[used++] = (char)(decimal ? '.' : text.ptr[i]);
        any = any || decimal;
        i++;
    }
    if (out != NULL && any)
        line->text = span_of(out, used);
    return out != NULL && any;
}

static bool take_inside(struct text_lines *lines)
{
    bool any = false;
    for (size_t i = 0; i < lines->count && !lines->failed; i++) {
        struct text_line *line = &lines->lines[i];
        if (take_remark(line)) {
            lines->removed[REMOVED_REMARK]++;
            any = true;
        }
        if (take_digit_groups(lines, line)) {
            lines->removed[REMOVED_DIGIT_GROUPS]++;
            any = true;
        }
    }
    return any;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct memory {
    int64_t *line;
    size_t *line_at;
    char *text;
};

static bool join(struct text_lines *lines, struct clean_text *clean)
{
    struct memory *memory = calloc(1, sizeof *memory);
    size_t size = 0, used = 0;
    for (size_t i = 0; i < lines->count; i++)
        size += lines->lines[i].text.len + 1;
    if (memory == NULL)
        return false;
    clean->memory = memory;
    memory->line = malloc((lines->count + 1) * sizeof *memory->line);
    memory->line_at = malloc((lines->count + 1) * sizeof *memory->line_at);
    memory->text = malloc(size + 1);
    if (memory->line == NULL || memory->line_at == NULL || memory->text == NULL)
        return false;
    for (size_t i = 0; i < lines->count; i++) {
        const struct text_line *line = &lines->lines[i];
        memory->line[i] = line->number;
        memory->line_at[i] = used;
        if (line->text.len > 0)
            memcpy(memory->text + used, line->text.ptr, line->text.len);
        used += line->text.len;
        memory->text[used++] = '\n';
    }
    clean->text = span_of(memory->text, used);
    clean->line_count = (int64_t)lines->count;
    clean->line = memory->line;
    clean->line_at = memory->line_at;
    return true;
}

bool clean_text_make(struct clean_text *clean, struct span raw)
{
    struct text_lines lines = {0};
    memset(clean, 0, sizeof *clean);
    clean->text = raw;
    if (raw.len > CLEAN_TEXT_MAX)
        return true;
    struct span text = decode(&lines, raw);
    if (is_escaped(text))
        split_escaped(&lines, text);
    else
        split(&lines, text);
    bool changed = text.ptr != raw.ptr || lines.removed[REMOVED_CARRIAGE_RETURN] > 0 ||
                   lines.removed[REMOVED_ESCAPED_LINES] > 0 || lines.removed[REMOVED_TRAILING] > 0,
         again = true;
    for (int round = 0; round < ROUNDS_MAX && again && !lines.failed; round++) {
        again = wraps_take(&lines);
        again = take_marks(&lines) || again;
        again = prefixes_take(&lines) || again;
        again = take_indent(&lines) || again;
        changed = changed || again;
    }
    changed = take_doubled(&lines) || changed;
    changed = take_folds(&lines) || changed;
    changed = take_inside(&lines) || changed;
    bool ok = !lines.failed && (!changed || join(&lines, clean));
    if (!changed)
        clean->line_count = (int64_t)lines.count;
    memcpy(clean->removed, lines.removed, sizeof clean->removed);
    text_lines_free(&lines);
    if (!ok)
        clean_text_free(clean);
    return ok;
}

int64_t clean_text_line(const struct clean_text *clean, const char *at)
{
    if (at < clean->text.ptr || at > clean->text.ptr + clean->text.len)
        return 0;
    size_t offset = (size_t)(at - clean->text.ptr);
    if (clean->line == NULL) {
        int64_t number = 1;
        for (size_t i = 0; i < offset; i++)
            number += clean->text.ptr[i] == '\n';
        return number;
    }
    size_t low = 0, high = (size_t)clean->line_count;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (clean->line_at[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return clean->line_count > 0 ? clean->line[low] : 1;
}

void clean_text_free(struct clean_text *clean)
{
    struct memory *memory = clean->memory;
    if (memory != NULL) {
        free(memory->line);
        free(memory->line_at);
        free(memory->text);
        free(memory);
    }
    memset(clean, 0, sizeof *clean);
}
