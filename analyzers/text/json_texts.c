/*
 * JSON around texts: log lines of one value each, values over many lines (journalctl -o json-pretty,
 * exports of chats, tickets and log stores), a text as one string.
 *
 * Of each object the string that is the message by its key goes on, and every string of several
 * lines. Text that only resembles JSON stays unchanged.
 */
#include "analyzers/text/text_lines.h"

#include "analyzers/model/texts.h"

#include <stdlib.h>

#define JSON_PERCENT 60 /* of the lines have to be of such values */
#define DEPTH_MAX    64
#define TRIES_MAX    16 /* values that begin in a line, do not end there, and are none */
#define ROWS_MIN     3  /* line ends of a text under any other key */
#define ALIKE_BEHIND 8  /* texts before one, that it may repeat */

/* What a value may pass on. */
struct candidate {
    struct span text; /* behind the quote, or an array of bytes with its brackets */
    int rank;         /* of its key; NO_KEY: of several lines */
    int depth;        /* of the object that is still being read; -1: settled */
};

#define NO_KEY 1000

struct value {
    struct span text;
    size_t at;
    bool cut; /* the text ended inside of it */
    struct candidate *found;
    size_t count, room;
    bool failed; /* out of memory */
};

static char next_char(struct value *value)
{
    while (value->at < value->text.len && strchr(" \t\r\n", value->text.ptr[value->at]) != NULL &&
           value->text.ptr[value->at] != '\0')
        value->at++;
    value->cut = value->cut || value->at >= value->text.len;
    return value->cut ? '\0' : value->text.ptr[value->at];
}

/* From behind its quote to behind its other one. A tab may stand as it is. */
static bool read_string(struct value *value, struct span *string)
{
    const struct span text = value->text;
    size_t start = value->at, i = start;
    while (i < text.len && text.ptr[i] != '"' &&
           ((unsigned char)text.ptr[i] >= ' ' || text.ptr[i] == '\t'))
        i += text.ptr[i] == '\\' ? 2 : 1;
    value->cut = i >= text.len;
    if (value->cut || text.ptr[i] != '"')
        return false;
    *string = span_of(text.ptr + start, i - start);
    value->at = i + 1;
    return true;
}

/* A number, true, false, null. */
static bool read_word(struct value *value)
{
    size_t start = value->at;
    while (value->at < value->text.len) {
        char c = value->text.ptr[value->at];
        if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
              c == '+' || c == '.'))
            break;
        value->at++;
    }
    value->cut = value->at >= value->text.len;
    return value->at > start;
}

static void keep(struct value *value, struct span text, int rank, int depth)
{
    if (!array_room(&value->found, &value->room, value->count + 1, sizeof *value->found))
        value->failed = true;
    else
        value->found[value->count++] = (struct candidate){text, rank, depth};
}

static bool has_lines(struct span string, int least)
{
    int rows = 0;
    for (size_t i = 0; i + 1 < string.len && rows < least; i++) {
        rows += string.ptr[i] == '\\' && string.ptr[i + 1] == 'n';
        i += string.ptr[i] == '\\';
    }
    return rows == least;
}

/* Whether it says the same as a text that was found before: exports repeat theirs. */
static bool is_repeated(const struct value *value, struct span string)
{
    size_t first = value->count > ALIKE_BEHIND ? value->count - ALIKE_BEHIND : 0;
    for (size_t i = first; i < value->count; i++) {
        if (span_equals(value->found[i].text, string))
            return true;
    }
    return false;
}

static int rank_of(struct span key)
{
    static const char *const keys[] = {"log",         "message",       "msg",         "MESSAGE",
                                       "textPayload", "@message",      "line",        "text",
                                       "event",       "short_message", "description", "body"};
    for (int i = 0; i < (int)(sizeof keys / sizeof *keys); i++) {
        if (span_equals(key, span_from_cstr(keys[i])))
            return i;
    }
    return NO_KEY;
}

/* What holds the same text a second time, with markup. */
static bool is_second_form(struct span key)
{
    static const struct span keys[] = {SPAN_INIT("blocks"), SPAN_INIT("original"),
                                       SPAN_INIT("renderedFields"), SPAN_INIT("renderedBody")};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (span_equals(key, keys[i]))
            return true;
    }
    return false;
}

/* Of an object's own strings the one of the best key stays, and those of several lines. */
static void settle(struct value *value, size_t first, int depth)
{
    int best = NO_KEY;
    size_t kept = first;
    for (size_t i = first; i < value->count; i++) {
        if (value->found[i].depth == depth && value->found[i].rank < best)
            best = value->found[i].rank;
    }
    for (size_t i = first; i < value->count; i++) {
        struct candidate found = value->found[i];
        if (found.depth == depth && found.rank != best && !has_lines(found.text, ROWS_MIN))
            continue;
        found.depth = found.depth == depth ? -1 : found.depth;
        value->found[kept++] = found;
    }
    value->count = kept;
}

static bool read_value(struct value *value, int rank, int depth);

static bool read_members(struct value *value, int depth)
{
    size_t first = value->count;
    if (next_char(value) == '}') {
        value->at++;
        return true;
    }
    for (;;) {
        struct span key;
        if (next_char(value) != '"' || (value->at++, !read_string(value, &key)) ||
            next_char(value) != ':')
            return false;
        value->at++;
        size_t count = value->count;
        if (!read_value(value, rank_of(key), depth))
            return false;
        if (is_second_form(key))
            value->count = count;
        char c = next_char(value);
        value->at++;
        if (c == '}') {
            settle(value, first, depth);
            return true;
        }
        if (c != ',')
            return false;
    }
}

/* Of an array of numbers, under the key of a message: journald writes bytes so. */
static bool read_elements(struct value *value, int rank, int depth)
{
    size_t start = value->at - 1, count = value->count;
    bool numbers = rank != NO_KEY;
    if (next_char(value) == ']') {
        value->at++;
        return true;
    }
    for (;;) {
        char c = next_char(value);
        numbers = numbers && c >= '0' && c <= '9';
        if (!read_value(value, NO_KEY, depth))
            return false;
        c = next_char(value);
        value->at++;
        if (c == ']')
            break;
        if (c != ',')
            return false;
    }
    if (numbers && value->count == count)
        keep(value, span_of(value->text.ptr + start, value->at - start), rank, depth - 1);
    return true;
}

/* depth: of the object around it. False: none, or cut. */
static bool read_value(struct value *value, int rank, int depth)
{
    struct span string;
    char c = next_char(value);
    if (depth >= DEPTH_MAX || value->failed || c == '\0')
        return false;
    if (c != '{' && c != '[' && c != '"')
        return read_word(value);
    value->at++;
    if (c == '{')
        return read_members(value, depth + 1);
    if (c == '[')
        return read_elements(value, rank, depth + 1);
    if (!read_string(value, &string))
        return false;
    bool rows = has_lines(string, depth == 0 ? 1 : ROWS_MIN);
    if ((rank != NO_KEY && !rows) || (rows && !is_repeated(value, string)))
        keep(value, string, rank, depth);
    return true;
}

/* --- escapes ---------------------------------------------------------------------------------- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* out has room for the text's length. */
static size_t unescape(struct span text, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\\' || i + 1 == text.len) {
            out[used++] = text.ptr[i];
            continue;
        }
        char c = text.ptr[++i];
        if (c == 'u' && i + 4 < text.len && hex(text.ptr[i + 1]) >= 0 &&
            hex(text.ptr[i + 2]) >= 0 && hex(text.ptr[i + 3]) >= 0 && hex(text.ptr[i + 4]) >= 0) {
            unsigned code = 0;
            for (int k = 1; k <= 4; k++)
                code = code << 4 | (unsigned)hex(text.ptr[i + (size_t)k]);
            used += utf8_put(out + used,
                             code); /* surrogates one by one: such texts hold none that matter */
            i += 4;
        } else {
            out[used++] = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
        }
    }
    return used;
}

static size_t bytes_of(struct span array, char *out)
{
    size_t used = 0;
    int64_t byte;
    for (array = span_skip(array, 1); array.len > 0;) {
        if (span_take_unsigned(&array, &byte))
            out[used++] = (char)byte;
        else
            array = span_skip(array, 1);
    }
    return used;
}

/* The value begins in line `first`, of those before any was taken; each text has the line where it begins. */
static void add_texts(struct text_lines *lines, const struct value *value,
                      const struct text_lines *before, size_t first)
{
    const char *at = value->text.ptr;
    size_t line_at = first;
    for (size_t i = 0; i < value->count; i++) {
        const struct candidate *found = &value->found[i];
        bool bytes = found->text.len > 0 && found->text.ptr[0] == '[' && found->rank != NO_KEY &&
                     found->text.ptr[-1] != '"';
        char *out = text_lines_room(lines, found->text.len);
        if (out == NULL)
            return;
        for (; at < found->text.ptr; at++)
            line_at += *at == '\n' && line_at + 1 < before->count;
        int64_t number = before->lines[line_at].number;
        struct span line,
            rest = span_of(out, bytes ? bytes_of(found->text, out) : unescape(found->text, out));
        if (rest.len == 0)
            text_lines_add(lines, rest, number);
        while (span_take_line(&rest, &line))
            text_lines_add(lines, line, number);
    }
}

/* --- in a text -------------------------------------------------------------------------------- */

static bool may_begin(struct span text)
{
    text = span_trim(text);
    return text.len > 0 && strchr("{[\"", text.ptr[0]) != NULL && text.ptr[0] != '\0';
}

/* A value with a text at the front, and behind it the end of its line, or a comma and that. */
static bool take_value(struct value *value, struct span text)
{
    value->text = text;
    value->at = value->count = 0;
    value->cut = false;
    if (!read_value(value, NO_KEY, 0))
        return false;
    size_t i = value->at;
    while (i < text.len && strchr(" \t\r,", text.ptr[i]) != NULL && text.ptr[i] != '\0')
        i++;
    value->at = i;
    return value->count > 0 && (i == text.len || text.ptr[i] == '\n');
}

bool json_holds_texts(struct span text)
{
    struct value value = {.count = 0};
    bool holds = may_begin(text) && take_value(&value, text);
    free(value.found);
    return holds;
}

/* The lines from `first` on as one text, each with its end. NULL: out of memory. */
static char *joined(const struct text_lines *lines, size_t first, size_t *size)
{
    size_t room = 0, used = 0;
    for (size_t i = first; i < lines->count; i++)
        room += lines->lines[i].gone ? 0 : lines->lines[i].text.len + 1;
    char *text = malloc(room + 1);
    for (size_t i = first; text != NULL && i < lines->count; i++) {
        struct span line = lines->lines[i].text;
        if (lines->lines[i].gone)
            continue;
        if (line.len > 0)
            memcpy(text + used, line.ptr, line.len);
        used += line.len;
        text[used++] = '\n';
    }
    *size = used;
    return text;
}

struct pass {
    struct text_lines *from;
    struct value value;
    char *text; /* of the lines from `first` on, when a value did not end in its line */
    size_t first, size, at_line, at; /* line at_line begins at `at` */
    int tries;
};

/* How many lines the value that begins in this one takes; 0: none does. */
static size_t lines_of_value(struct pass *pass, size_t i)
{
    struct text_lines *lines = pass->from;
    if (take_value(&pass->value, lines->lines[i].text))
        return 1;
    if (!pass->value.cut || pass->tries >= TRIES_MAX)
        return 0;
    if (pass->text == NULL) {
        pass->text = joined(lines, i, &pass->size);
        pass->first = pass->at_line = i;
        pass->at = 0;
    }
    if (pass->text == NULL) {
        lines->failed = true;
        return 0;
    }
    for (; pass->at_line < i; pass->at_line++)
        pass->at += lines->lines[pass->at_line].gone ? 0 : lines->lines[pass->at_line].text.len + 1;
    if (!take_value(&pass->value, span_of(pass->text + pass->at, pass->size - pass->at))) {
        pass->tries++;
        return 0;
    }
    size_t count = 0;
    for (size_t left = pass->value.at + 1; left > 0 && i + count < lines->count; count++) {
        size_t taken = lines->lines[i + count].gone ? 0 : lines->lines[i + count].text.len + 1;
        left = left > taken ? left - taken : 0;
    }
    return count;
}

bool json_take(struct text_lines *lines)
{
    struct text_lines made = {.blocks = lines->blocks};
    struct pass pass = {.from = lines};
    int64_t have = 0, of = 0;
    bool failed = false;
    for (size_t i = 0; i < lines->count && !failed; i++) {
        struct text_line line = lines->lines[i];
        if (line.gone)
            continue;
        bool blank = span_trim(line.text).len == 0;
        size_t count = !blank && may_begin(line.text) ? lines_of_value(&pass, i) : 0;
        /* What is in front of the first: a text without JSON costs nothing. */
        for (size_t k = 0; count > 0 && have == 0 && k < i; k++) {
            if (!lines->lines[k].gone)
                text_lines_add(&made, lines->lines[k].text, lines->lines[k].number);
        }
        if (count > 0)
            add_texts(&made, &pass.value, lines, i);
        else if (have > 0)
            text_lines_add(&made, line.text, line.number);
        of += blank ? 0 : count > 0 ? (int64_t)count : 1;
        have += (int64_t)count;
        i += count > 1 ? count - 1 : 0;
        failed = made.failed || lines->failed || pass.value.failed;
    }
    free(pass.value.found);
    free(pass.text);
    lines->blocks = made.blocks;
    lines->failed = failed;
    if (failed || have == 0 || have * 100 < of * JSON_PERCENT) {
        free(made.lines);
        return false;
    }
    free(lines->lines);
    lines->lines = made.lines;
    lines->count = made.count;
    lines->room = made.room;
    lines->removed[REMOVED_JSON] += have;
    return true;
}
