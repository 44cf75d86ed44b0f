/*
 * What stands in front of lines: quotes, comment leaders, timestamps, names of containers.
 *
 * Each kind says how many bytes of a line it would take. They go when most lines of the text have
 * them, or where a run of lines has.
 */
#include "analyzers/text/text_lines.h"

#define RUN_MIN      3
#define MOST_PERCENT 60
#define TOKEN_MAX    80
#define ALONE_MIN    5 /* numbers with nothing but a blank behind them are line numbers from here on */

static bool is_name(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '/';
}

static bool is_blank(struct span text)
{
    return span_trim(text).len == 0;
}

static size_t skip_blanks(struct span text, size_t i)
{
    while (at(text, i) == ' ' || at(text, i) == '\t')
        i++;
    return i;
}

/* One blank behind a prefix belongs to it. */
static size_t with_blank(struct span text, size_t i)
{
    return at(text, i) == ' ' || at(text, i) == '\t' ? i + 1 : i;
}

static bool has(struct span text, const char *words)
{
    return span_find(text, span_from_cstr(words)) >= 0;
}

/* --- quotes, comments, bars ------------------------------------------------------------------- */

static size_t quote(struct span text)
{
    size_t i = skip_blanks(text, 0);
    return i <= 3 && at(text, i) == '>' && at(text, i + 1) != '=' ? with_blank(text, i + 1) : 0;
}

static size_t slashes(struct span text)
{
    size_t i = skip_blanks(text, 0);
    return at(text, i) == '/' && at(text, i + 1) == '/' ? with_blank(text, i + 2) : 0;
}

static size_t star(struct span text)
{
    size_t i = skip_blanks(text, 0);
    if (at(text, i) != '*' ||
        (i + 1 < text.len && at(text, i + 1) != ' ' && at(text, i + 1) != '\t'))
        return 0;
    return with_blank(text, i + 1);
}

/* An error file's own head has it, too: see may_go. */
static size_t hash(struct span text)
{
    if (at(text, 0) != '#' || at(text, 1) == '#')
        return 0;
    return with_blank(text, 1);
}

static size_t dashes(struct span text)
{
    if (at(text, 0) != '-' || at(text, 1) != '-' || (text.len > 2 && at(text, 2) != ' '))
        return 0;
    return with_blank(text, 2);
}

/* Hierarchies of classes and of loaders are drawn with bars. */
static size_t bar(struct span text)
{
    size_t i = skip_blanks(text, 0);
    bool closed = span_ends_with(span_trim(text), SPAN_LITERAL(" |"));
    if (at(text, i) != '|' || (!closed && (has(text, "|--") || has(text, "+--"))))
        return 0;
    return with_blank(text, i + 1);
}

/* Rows of NMT begin with a dash of their own. */
static size_t bullet(struct span text)
{
    size_t i = skip_blanks(text, 0);
    if ((at(text, i) == '-' || at(text, i) == '+') && at(text, i + 1) == ' ' &&
        at(text, i + 2) == '-' && at(text, i + 3) == ' ')
        return i + 2;
    static const struct span dots[] = {SPAN_INIT("\xe2\x80\xa2"), SPAN_INIT("\xc2\xb7"),
                                       SPAN_INIT("\xe2\x97\xa6"), SPAN_INIT("\xe2\x96\xaa")};
    int k = span_row(from(text, i), span_starts_with, SPAN_TABLE(dots));
    return k < 0 ? 0 : with_blank(text, i + dots[k].len);
}

/* Lines as a list of JSON or a column of CSV has them: "words", */
static size_t end_of_quoted(struct span text)
{
    while (text.len > 0 && strchr(" \t\r", text.ptr[text.len - 1]) != NULL)
        text.len--;
    if (text.len > 0 && text.ptr[text.len - 1] == ',')
        text.len--;
    return text.len > 0 && text.ptr[text.len - 1] == '"' ? text.len - 1 : 0;
}

static size_t quoted(struct span text)
{
    size_t i = skip_blanks(text, 0), end = i + end_of_quoted(from(text, i));
    if (at(text, i) != '"' || end <= i)
        return 0;
    for (size_t k = i + 1; k < end; k++) {
        if (text.ptr[k] == '"' && text.ptr[k - 1] != '\\')
            return 0;
    }
    return i + 1;
}

/* --- times ------------------------------------------------------------------------------------ */

static bool digits(struct span text, size_t i, int count)
{
    for (int k = 0; k < count; k++) {
        if (!is_digit(at(text, i + (size_t)k)))
            return false;
    }
    return true;
}

static bool is_month(struct span text, size_t i)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int k = 0; k < 12 && i + 3 <= text.len; k++) {
        if (memcmp(text.ptr + i, months + (ptrdiff_t)k * 3, 3) == 0)
            return true;
    }
    return false;
}

/* "15:57:06.123"; returns where it ends, 0: none. */
static size_t clock_end(struct span text, size_t i)
{
    if (!digits(text, i, 2) || at(text, i + 2) != ':' || !digits(text, i + 3, 2) ||
        at(text, i + 5) != ':' || !digits(text, i + 6, 2))
        return 0;
    i += 8;
    if ((at(text, i) == '.' || at(text, i) == ',') && is_digit(at(text, i + 1))) {
        i++;
        while (is_digit(at(text, i)))
            i++;
    }
    return is_digit(at(text, i)) || at(text, i) == ':' ? 0 : i;
}

/* "Z", "+0200", "+02:00", " +0200", " UTC"; i when there is none. */
static size_t zone_end(struct span text, size_t i)
{
    size_t sign = at(text, i) == ' ' ? i + 1 : i;
    if (at(text, i) == 'Z')
        return i + 1;
    if ((at(text, sign) == '+' || at(text, sign) == '-') && digits(text, sign + 1, 2)) {
        size_t end = sign + 3 + (at(text, sign + 3) == ':');
        return digits(text, end, 2) && !is_digit(at(text, end + 2)) ? end + 2 : i;
    }
    static const struct span names[] = {SPAN_INIT(" UTC"), SPAN_INIT(" GMT"),  SPAN_INIT(" AM"),
                                        SPAN_INIT(" PM"),  SPAN_INIT(" CEST"), SPAN_INIT(" CET")};
    int k = span_row(from(text, i), span_starts_with, SPAN_TABLE(names));
    return k < 0 ? i : i + names[k].len;
}

/* "2024-05-01", "2024/05/01", "01.05.2024", "01-May-2024"; 0: none. */
static size_t date_end(struct span text, size_t i)
{
    char mark = at(text, i + 4);
    if (digits(text, i, 4) && (mark == '-' || mark == '/' || mark == '.') &&
        digits(text, i + 5, 2) && at(text, i + 7) == mark && digits(text, i + 8, 2))
        return i + 10;
    mark = at(text, i + 2);
    if (!digits(text, i, 2) || (mark != '-' && mark != '/' && mark != '.'))
        return 0;
    if (digits(text, i + 3, 2) && at(text, i + 5) == mark && digits(text, i + 6, 4))
        return i + 10;
    if (is_month(text, i + 3) && at(text, i + 6) == mark && digits(text, i + 7, 4))
        return i + 11;
    return 0;
}

/* Of a date with a time, of a time; the JVM's own decorations "[...][...]" and "...: 1.2 s" stay */
static size_t timestamp(struct span text)
{
    bool bracket = at(text, 0) == '[';
    size_t start = bracket ? 1 : 0, end = date_end(text, start), i;
    if (end > 0 && (at(text, end) == 'T' || at(text, end) == ' '))
        end = clock_end(text, end + 1);
    else if (end == 0)
        end = clock_end(text, start);
    else
        return 0;
    if (end == 0)
        return 0;
    end = zone_end(text, end);
    if (bracket) {
        if (at(text, end) != ']' || at(text, end + 1) == '[')
            return 0;
        end++;
    }
    i = end;
    if (i < text.len && at(text, i) != ' ' && at(text, i) != '\t')
        return 0;
    return with_blank(text, i);
}

/* "May  1 10:00:00 host java[1234]: ", of syslog and journald. */
static size_t syslog_line(struct span text)
{
    if (!is_month(text, 0) || at(text, 3) != ' ')
        return 0;
    size_t i = skip_blanks(text, 3);
    if (!is_digit(at(text, i)))
        return 0;
    while (is_digit(at(text, i)))
        i++;
    if (at(text, i) != ' ')
        return 0;
    i = clock_end(text, i + 1);
    return i == 0 || (i < text.len && at(text, i) != ' ') ? 0 : with_blank(text, i);
}

/* "[12345.678901] " and "[Wed May  1 10:00:00 2024] ", of the kernel. */
static size_t kernel_time(struct span text)
{
    if (at(text, 0) != '[')
        return 0;
    size_t i = skip_blanks(text, 1), dots = 0;
    if (is_month(text, i + 4)) {
        ptrdiff_t close = span_find(text, SPAN_LITERAL("] "));
        return close > 0 && close < 40 ? (size_t)close + 2 : 0;
    }
    while (is_digit(at(text, i)) || (at(text, i) == '.' && dots++ == 0))
        i++;
    return dots == 1 && at(text, i) == ']' && (i + 1 == text.len || at(text, i + 1) == ' ')
               ? with_blank(text, i + 1)
               : 0;
}

/* --- numbers of lines ------------------------------------------------------------------------- */

struct line_number {
    struct span file; /* of grep; empty: none */
    int64_t number;
    size_t prefix; /* bytes; 0: the line has no number in front */
    bool alone;    /* nothing but a blank is behind the number: it may be the first word of a row */
};

/* A histogram's row, where only the number is left of it. */
static bool is_counts(struct span text)
{
    int64_t number;
    text = span_trim(text);
    return span_take_unsigned(&text, &number) && span_take(&text, SPAN_LITERAL(" ")) &&
           (text = span_trim(text), span_take_unsigned(&text, &number)) && at(text, 0) == ' ';
}

static bool is_all_digits(struct span text)
{
    int64_t number;
    return span_take_unsigned(&text, &number) && text.len == 0;
}

/* "12:" and "file:12:" of grep, "  12<tab>" of cat and nl, "  12 " of less and vi, "  12 " and a bar of bat. */
static struct line_number line_number(struct span text)
{
    const struct line_number none = {.prefix = 0};
    struct line_number found = none;
    size_t start = 0, i = 0;
    while (is_name(at(text, i)) && i < TOKEN_MAX)
        i++;
    if (at(text, i) == ':' && i > 0 && !is_all_digits(span_of(text.ptr, i))) {
        found.file = span_of(text.ptr, i);
        start = i + 1;
    } else {
        start = skip_blanks(text, 0);
    }
    for (i = start; is_digit(at(text, i));)
        i++;
    struct span number = span_of(text.ptr + start, i - start);
    bool grep = at(text, i) == ':' && (start == 0 || found.file.len > 0);
    if (number.len > 7 || !span_take_unsigned(&number, &found.number) ||
        (found.file.len > 0 && (!grep || date_end(text, 0) > 0)) || clock_end(text, start) > 0)
        return none;
    size_t bar_at = skip_blanks(text, i);
    if (grep || at(text, i) == '\t')
        found.prefix = i + 1;
    else if (span_starts_with(from(text, bar_at), SPAN_LITERAL("\xe2\x94\x82")))
        found.prefix = with_blank(text, bar_at + 3);
    else if (at(text, i) == ' ' || i == text.len)
        found.prefix = with_blank(text, i);
    found.alone = found.prefix == i + 1 && at(text, i) == ' ';
    return found;
}

static size_t numbered(struct span text)
{
    return line_number(text).prefix;
}

/* They go up from line to line; where only a blank is behind them, by one: a process table's do not. The ranks
 * of a histogram are none, nor are numbers in the middle of a block. */
static bool are_line_numbers(const struct text_lines *lines, size_t first, size_t end)
{
    struct line_number last = {.prefix = 0};
    int64_t alone = 0, last_line = 0, counts = 0, of = 0, begin = -1;
    for (size_t i = first; i < end; i++) {
        if (lines->lines[i].peel == 0)
            continue;
        struct line_number found = line_number(lines->lines[i].text);
        int64_t step = found.number - last.number;
        bool next = step == 1 || step == (int64_t)i - last_line;
        bool same = last.prefix > 0 && span_equals(found.file, last.file);
        if (same && (step <= 0 || (found.alone && !next)))
            return false;
        alone += found.alone;
        counts += is_counts(from(lines->lines[i].text, found.prefix));
        begin = of++ == 0 ? found.number : begin;
        last = found;
        last_line = (int64_t)i;
    }
    bool middle = first > 0 && begin != 1 && !is_blank(lines->lines[first - 1].text);
    return !middle && counts * 2 < of &&
           (alone == 0 || alone >= ALONE_MIN || (begin == 1 && of > 1));
}

/* --- prefixes of containers and loggers ------------------------------------------------------- */

/* "stdout F " of the container runtime interface. */
static size_t stream(struct span text)
{
    struct span rest = text;
    if (!span_take(&rest, SPAN_LITERAL("stdout ")) && !span_take(&rest, SPAN_LITERAL("stderr ")))
        return 0;
    size_t i = text.len - rest.len;
    if (at(text, i) != 'F' && at(text, i) != 'P')
        return 0;
    return i + 1 == text.len || at(text, i + 1) == ' ' ? with_blank(text, i + 1) : 0;
}

/* "app-1  | ": compose; "app.1.x7abc@node1  | ": a swarm; "INFO   | jvm 1    | 2024/05/01 10:00:00 | ": the
 * service wrapper. */
static size_t service(struct span text)
{
    size_t i = 0;
    while ((is_name(at(text, i)) || at(text, i) == '@') && i < TOKEN_MAX)
        i++;
    if (i == 0)
        return 0;
    size_t bar_at = skip_blanks(text, i);
    if (at(text, bar_at) != '|' ||
        (bar_at + 1 < text.len && at(text, bar_at + 1) != ' ' && at(text, bar_at + 1) != '\t'))
        return 0;
    struct span rest = from(text, bar_at + 1);
    ptrdiff_t jvm = span_find(rest, SPAN_LITERAL("jvm "));
    if (jvm >= 0 && jvm < 3) {
        ptrdiff_t next = span_find(rest, SPAN_LITERAL("|"));
        struct span behind = next < 0 ? rest : from(rest, (size_t)next + 1);
        ptrdiff_t last = span_find(behind, SPAN_LITERAL("|"));
        bool dated = last > 0 && last < 24 && date_end(behind, 1) > 0;
        if (next > 0 && next < 16)
            return with_blank(text, bar_at + 2 + (size_t)next + (dated ? (size_t)last + 1 : 0));
    }
    bool counted = i > 2 && is_digit(text.ptr[i - 1]) &&
                   (memchr(text.ptr, '-', i) != NULL || memchr(text.ptr, '_', i) != NULL);
    bool lower = text.ptr[0] >= 'a' && text.ptr[0] <= 'z';
    return counted || lower ? with_blank(text, bar_at + 1) : 0;
}

/* "host java[123]: ", "java[123]: ", "app[web.1]: ", "kernel: ", "host kernel: " */
static size_t tag(struct span text)
{
    size_t i = 0;
    for (int words = 0; words < 2; words++) {
        size_t start = i;
        while ((is_name(at(text, i)) || at(text, i) == '(' || at(text, i) == ')' ||
                at(text, i) == '<' || at(text, i) == '>') &&
               i - start < TOKEN_MAX)
            i++;
        if (i == start)
            return 0;
        if (at(text, i) == '[') {
            size_t inner = i + 1;
            while (is_name(at(text, inner)) && inner - i < 40)
                inner++;
            return inner > i + 1 && at(text, inner) == ']' && at(text, inner + 1) == ':' &&
                           (inner + 2 == text.len || at(text, inner + 2) == ' ')
                       ? with_blank(text, inner + 2)
                       : 0;
        }
        if (at(text, i) == ':' && span_ends_with(span_of(text.ptr, i), SPAN_LITERAL("kernel")) &&
            (i + 1 == text.len || at(text, i + 1) == ' '))
            return with_blank(text, i + 1);
        if (at(text, i) != ' ')
            return 0;
        i++;
    }
    return 0;
}

/* "[pod/name/container] " of kubectl --prefix, "[APP/PROC/WEB/0] OUT " of Cloud Foundry. */
static size_t pod(struct span text)
{
    if (!span_starts_with(text, SPAN_LITERAL("[pod/")) &&
        !span_starts_with(text, SPAN_LITERAL("[APP/")) &&
        !span_starts_with(text, SPAN_LITERAL("[CELL/")))
        return 0;
    ptrdiff_t close = span_find(text, SPAN_LITERAL("]"));
    if (close < 0 || close > TOKEN_MAX)
        return 0;
    size_t i = skip_blanks(text, (size_t)close + 1);
    if (span_starts_with(from(text, i), SPAN_LITERAL("OUT")) ||
        span_starts_with(from(text, i), SPAN_LITERAL("ERR")))
        return with_blank(text, i + 3);
    return with_blank(text, (size_t)close + 1);
}

static size_t level_end(struct span text, size_t i)
{
    static const struct span names[] = {
        SPAN_INIT("TRACE"), SPAN_INIT("DEBUG"), SPAN_INIT("INFO"),   SPAN_INIT("WARNING"),
        SPAN_INIT("WARN"),  SPAN_INIT("ERROR"), SPAN_INIT("SEVERE"), SPAN_INIT("FATAL")};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t end = i + names[k].len;
        if (span_starts_with(from(text, i), names[k]) && !is_letter(at(text, end)))
            return end;
    }
    return 0;
}

static size_t bracket_end(struct span text, size_t i)
{
    if (at(text, i) != '[')
        return i;
    size_t depth = 0;
    for (size_t k = i; k < text.len && k - i < 120; k++) {
        depth += text.ptr[k] == '[';
        depth -= text.ptr[k] == ']';
        if (depth == 0)
            return skip_blanks(text, k + 1);
    }
    return i;
}

/* "[main] INFO  c.e.Main - ", "INFO 1234 --- [main] c.e.Main  : ", "INFO [main] o.a.X ", what is
 * left of a logger's line behind its time. */
static size_t logger(struct span text)
{
    size_t i = bracket_end(text, skip_blanks(text, 0));
    bool closed = at(text, i) == '[';
    size_t end = level_end(text, i + closed);
    if (end == 0 || (closed && at(text, end) != ']'))
        return 0;
    i = skip_blanks(text, end + closed);
    size_t start = i;
    while (is_digit(at(text, i)))
        i++;
    i = skip_blanks(text, i);
    if (span_starts_with(from(text, i), SPAN_LITERAL("--- ")))
        i = skip_blanks(text, i + 4);
    else if (i > start && !is_letter(at(text, i)) && at(text, i) != '[')
        return 0;
    i = bracket_end(text, i);
    i = bracket_end(text, i);
    start = i;
    while ((is_name(at(text, i)) || at(text, i) == '$') && i - start < 120)
        i++;
    if (at(text, i) == ':' && (at(text, i + 1) == ' ' || i + 1 == text.len))
        return with_blank(text, i + 1);
    size_t sign = skip_blanks(text, i);
    if ((at(text, sign) == ':' || at(text, sign) == '-') &&
        (sign + 1 == text.len || at(text, sign + 1) == ' '))
        return with_blank(text, sign + 1);
    if (at(text, sign) == '-' && at(text, sign + 1) == '-' && at(text, sign + 2) == ' ')
        return sign + 3;
    return 0;
}

/* --- which go --------------------------------------------------------------------------------- */

static const struct {
    size_t (*take)(struct span text); /* bytes in front of the line; 0: none */
    enum removed removed;
    int run_min;
} KINDS[] = {
    {quote, REMOVED_QUOTE, 1},
    {slashes, REMOVED_COMMENT, 2},
    {star, REMOVED_COMMENT, 3},
    {hash, REMOVED_COMMENT, 3},
    {dashes, REMOVED_COMMENT, 3},
    {bar, REMOVED_PIPE, 3},
    {bullet, REMOVED_BULLET, 2},
    {quoted, REMOVED_QUOTED, 3},
    {numbered, REMOVED_NUMBER, 8},
    {timestamp, REMOVED_TIMESTAMP, 3},
    {syslog_line, REMOVED_TIMESTAMP, 2},
    {kernel_time, REMOVED_TIMESTAMP, 2},
    {stream, REMOVED_PREFIX, 2},
    {service, REMOVED_PREFIX, 3},
    {tag, REMOVED_PREFIX, 2},
    {pod, REMOVED_PREFIX, 2},
    {logger, REMOVED_PREFIX, 2},
};

/* The head of an error file is made of lines with a hash. */
static bool is_error_file_head(struct span text)
{
    static const struct span words[] = {
        SPAN_INIT("A fatal error has been detected"),
        SPAN_INIT("There is insufficient memory"),
        SPAN_INIT("An unexpected error has been detected"),
        SPAN_INIT("JRE version:"),
        SPAN_INIT("Java VM:"),
        SPAN_INIT("Problematic frame:"),
        SPAN_INIT("Out of Memory Error"),
    };
    return span_row(span_trim(text), span_starts_with, SPAN_TABLE(words)) >= 0;
}

static bool may_go(const struct text_lines *lines, size_t first, size_t end,
                   size_t (*take)(struct span))
{
    if (take == numbered)
        return are_line_numbers(lines, first, end);
    if (take != hash)
        return true;
    for (size_t i = first; i < end; i++) {
        const struct text_line *line = &lines->lines[i];
        if (line->peel > 0 && is_error_file_head(from(line->text, (size_t)line->peel)))
            return false;
    }
    return true;
}

static void peel(struct text_lines *lines, size_t first, size_t end, enum removed removed)
{
    for (size_t i = first; i < end; i++) {
        struct text_line *line = &lines->lines[i];
        if (line->gone || line->peel == 0)
            continue;
        line->text = from(line->text, (size_t)line->peel);
        line->peel = 0;
        lines->removed[removed]++;
        if (removed == REMOVED_QUOTED)
            line->text.len = end_of_quoted(line->text);
        struct span trimmed = span_trim(line->text);
        if (removed == REMOVED_PIPE && span_ends_with(trimmed, SPAN_LITERAL("|"))) {
            const char *start = line->text.ptr;
            trimmed.len--;
            trimmed = span_trim(trimmed);
            line->text = span_of(start, (size_t)(trimmed.ptr + trimmed.len - start));
        }
    }
}

static bool take_kind(struct text_lines *lines, size_t kind)
{
    int64_t have = 0, of = 0;
    for (size_t i = 0; i < lines->count; i++) {
        struct text_line *line = &lines->lines[i];
        line->peel = 0;
        if (line->gone || is_blank(line->text))
            continue;
        line->peel = (int32_t)KINDS[kind].take(line->text);
        of++;
        have += line->peel > 0;
    }
    if (have == 0)
        return false;
    int64_t least =
        KINDS[kind].run_min < RUN_MIN ? KINDS[kind].run_min : RUN_MIN; /* of two lines, both */
    if (have == of && of == 2 && least > 2)
        least = 2;
    if (have >= least && have * 100 >= of * MOST_PERCENT) {
        if (!may_go(lines, 0, lines->count, KINDS[kind].take))
            return false;
        peel(lines, 0, lines->count, KINDS[kind].removed);
        return true;
    }
    bool any = false;
    for (size_t i = 0; i < lines->count;) {
        if (lines->lines[i].peel == 0) {
            i++;
            continue;
        }
        size_t end = i;
        int run = 0;
        while (end < lines->count && (lines->lines[end].peel > 0 || lines->lines[end].gone ||
                                      is_blank(lines->lines[end].text))) {
            run += lines->lines[end].peel > 0;
            end++;
        }
        if (run >= KINDS[kind].run_min && may_go(lines, i, end, KINDS[kind].take)) {
            peel(lines, i, end, KINDS[kind].removed);
            any = true;
        }
        i = end;
    }
    return any;
}

bool prefixes_take(struct text_lines *lines)
{
    bool any = false;
    for (size_t kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++)
        any = take_kind(lines, kind) || any;
    return any;
}
