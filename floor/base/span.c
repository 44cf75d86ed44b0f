#include "floor/base/span.h"

struct span span_from_cstr(const char *text)
{
    return text ? span_of(text, strlen(text)) : span_of("", 0);
}

bool span_equals(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool span_starts_with(struct span text, struct span prefix)
{
    return text.len >= prefix.len && span_equals(span_of(text.ptr, prefix.len), prefix);
}

bool span_ends_with(struct span text, struct span suffix)
{
    return text.len >= suffix.len &&
           span_equals(span_of(text.ptr + (text.len - suffix.len), suffix.len), suffix);
}

ptrdiff_t span_find(struct span text, struct span needle)
{
    if (needle.len == 0)
        return 0;
    if (text.len < needle.len)
        return -1;
    const char *hit = memmem(text.ptr, text.len, needle.ptr, needle.len);
    return hit ? hit - text.ptr : -1;
}

static bool is_margin(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct span span_trim(struct span text)
{
    while (text.len > 0 && is_margin(text.ptr[0]))
        text = span_skip(text, 1);
    while (text.len > 0 && is_margin(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

struct span span_behind(struct span text, struct span mark)
{
    ptrdiff_t at = span_find(text, mark);
    return at < 0 ? span_of(NULL, 0) : span_skip(text, (size_t)at + mark.len);
}

struct span span_until(struct span text, const char *ends)
{
    size_t length = 0;
    while (length < text.len &&
           (text.ptr[length] == '\0' || strchr(ends, text.ptr[length]) == NULL))
        length++;
    return span_of(text.ptr, length);
}

bool span_take_word(struct span *text, struct span *word)
{
    size_t at = 0;
    while (at < text->len && (text->ptr[at] == ' ' || text->ptr[at] == '\t'))
        at++;
    size_t from = at;
    while (at < text->len && text->ptr[at] != ' ' && text->ptr[at] != '\t' && text->ptr[at] != '\n')
        at++;
    *word = span_of(text->ptr + from, at - from);
    *text = span_skip(*text, at);
    return word->len > 0;
}

void span_split(struct span line, struct span_words *words)
{
    words->count = 0;
    line = span_trim(line);
    while (words->count < SPAN_WORDS_MAX && span_take_word(&line, &words->word[words->count]))
        words->count++;
}

int span_words_find(const struct span_words *words, struct span name)
{
    for (int i = 0; i < words->count; i++) {
        if (span_equals(words->word[i], name))
            return i;
    }
    return -1;
}

bool span_next_line(struct span *rest, struct span *line, bool *terminated)
{
    if (rest->len == 0)
        return false;
    const char *end = memchr(rest->ptr, '\n', rest->len);
    *terminated = end != NULL;
    size_t taken = end ? (size_t)(end - rest->ptr) + 1 : rest->len;
    *line = span_of(rest->ptr, end ? taken - 1 : taken);
    if (end != NULL && line->len > 0 && line->ptr[line->len - 1] == '\r')
        line->len--;
    *rest = span_skip(*rest, taken);
    return true;
}

bool span_take_line(struct span *rest, struct span *line)
{
    bool terminated;
    return span_next_line(rest, line, &terminated);
}

bool span_take_i64(struct span *text, int64_t *value)
{
    size_t at = 0;
    bool negative = false;
    if (text->len > 0 && (text->ptr[0] == '-' || text->ptr[0] == '+')) {
        negative = text->ptr[0] == '-';
        at = 1;
    }
    size_t first_digit = at;
    int64_t number = 0; /* built downwards: INT64_MIN has no positive twin */
    for (; at < text->len && is_digit(text->ptr[at]); at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, text->ptr[at] - '0', &number))
            return false;
    }
    if (at == first_digit || (!negative && number == INT64_MIN))
        return false;
    *value = negative ? number : -number;
    *text = span_skip(*text, at);
    return true;
}

bool span_take_unsigned(struct span *text, int64_t *value)
{
    return text->len > 0 && is_digit(text->ptr[0]) && span_take_i64(text, value);
}

static int hex_digit(char c)
{
    int letter = (c | 0x20) - 'a';
    return is_digit(c) ? c - '0' : letter >= 0 && letter < 6 ? letter + 10 : -1;
}

bool span_take_hex(struct span *text, uint64_t *value)
{
    uint64_t number = 0;
    size_t digits = 0;
    for (; digits < text->len && hex_digit(text->ptr[digits]) >= 0; digits++) {
        if (digits == 16)
            return false;
        number = number << 4 | (uint64_t)hex_digit(text->ptr[digits]);
    }
    if (digits == 0)
        return false;
    *value = number;
    *text = span_skip(*text, digits);
    return true;
}

bool span_take(struct span *text, struct span literal)
{
    if (!span_starts_with(*text, literal))
        return false;
    *text = span_skip(*text, literal.len);
    return true;
}

void span_copy(struct span text, char *out, size_t size)
{
    if (size == 0)
        return;
    size_t len = text.len;
    if (len >= size) {
        len = size - 1;
        while (len > 0 && ((unsigned char)text.ptr[len] & 0xC0) == 0x80)
            len--;
    }
    if (len > 0)
        memcpy(out, text.ptr, len);
    out[len] = '\0';
}

void span_copy_stem(struct span text, char *out, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < text.len && length + 1 < size; i++) {
        bool digit = is_digit(text.ptr[i]);
        if (!digit || length == 0 || out[length - 1] != '#')
            out[length++] = digit ? '#' : text.ptr[i];
    }
    out[length] = '\0';
}

int java_major(struct span text)
{
    int64_t major;
    if (!span_take_unsigned(&text, &major) || major > 999 ||
        (major == 1 && span_take(&text, SPAN_LITERAL(".")) && !span_take_unsigned(&text, &major)))
        return 0;
    return (int)major;
}

/* --- sizes with a unit ------------------------------------------------------------------------ */

static int shift_of(char unit)
{
    static const char units[] = "kmgt";
    const char *at = memchr(units, unit | 0x20, sizeof units - 1);
    return at == NULL ? 0 : 10 * (int)(at - units + 1);
}

/* ".907": thousandths. */
static int64_t take_thousandths(struct span *text)
{
    struct span rest = *text;
    int64_t thousandths = 0, worth = 100;
    if (rest.len < 2 || (rest.ptr[0] != '.' && rest.ptr[0] != ',') || !is_digit(rest.ptr[1]))
        return 0;
    size_t i = 1;
    for (; i < rest.len && is_digit(rest.ptr[i]); i++, worth /= 10)
        thousandths += (rest.ptr[i] - '0') * worth;
    *text = span_skip(rest, i);
    return thousandths;
}

bool java_size_take(struct span *text, int64_t *bytes)
{
    struct span rest = *text;
    int64_t number;
    if (!span_take_unsigned(&rest, &number))
        return false;
    int64_t thousandths = take_thousandths(&rest);
    struct span unit = rest;
    span_take(&unit, SPAN_LITERAL(" "));
    int shift = unit.len > 0 ? shift_of(unit.ptr[0]) : 0;
    if (shift > 0) {
        unit = span_skip(unit, 1);
        span_take(&unit, SPAN_LITERAL("i"));
        if (!span_take(&unit, SPAN_LITERAL("B")))
            span_take(&unit, SPAN_LITERAL("b"));
        if (unit.len > 0 && is_letter(unit.ptr[0])) /* "12 tasks" */
            shift = 0;
        else
            rest = unit;
    }
    if (number > (INT64_MAX >> shift) - 1)
        return false;
    *bytes = (number << shift) + (thousandths << shift) / 1000;
    *text = rest;
    return true;
}

bool whole_size_take(struct span *text, int64_t *bytes)
{
    struct span rest = *text;
    int64_t size;
    if (!java_size_take(&rest, &size) || (rest.len == 0 && is_digit(rest.ptr[-1])))
        return false;
    *bytes = size;
    *text = rest;
    return true;
}

bool number_behind(struct span text, struct span mark, int64_t *number)
{
    struct span rest = span_behind(text, mark);
    return span_take_unsigned(&rest, number);
}

bool size_behind(struct span text, struct span mark, int64_t *bytes)
{
    struct span rest = span_behind(text, mark);
    return java_size_take(&rest, bytes);
}

bool whole_size_behind(struct span text, struct span mark, int64_t *bytes)
{
    struct span rest = span_behind(text, mark);
    return whole_size_take(&rest, bytes);
}

bool span_fits_one(struct span text, const char *marks,
                   bool (*fits)(struct span text, struct span mark))
{
    for (size_t length; *marks != '\0'; marks += length + (marks[length] == '|')) {
        length = strcspn(marks, "|");
        if (fits(text, span_of(marks, length)))
            return true;
    }
    return false;
}

/* Goes back to the last star only: linear but for the text. */
bool span_is_like(struct span text, struct span pattern)
{
    const char *at = pattern.ptr, *end = at + pattern.len, *star = NULL, *again = NULL;
    for (const char *c = text.ptr; c < text.ptr + text.len;) {
        if (at < end && *at == '*') {
            star = at++;
            again = c;
        } else if (at < end && *at == *c) {
            at++;
            c++;
        } else if (star != NULL) {
            at = star + 1;
            c = ++again;
        } else {
            return false;
        }
    }
    while (at < end && *at == '*')
        at++;
    return at == end;
}

bool java_flag_size(struct span text, struct span flag, int64_t *bytes)
{
    struct span rest = text;
    ptrdiff_t at;
    bool found = false;
    while ((at = span_find(rest, flag)) >= 0) {
        const char *begin = rest.ptr + at;
        size_t from = (size_t)at + flag.len;
        rest = span_skip(rest, from);
        bool own = begin == text.ptr || strchr(" \t\n\"'=", begin[-1]) != NULL;
        struct span value = rest;
        found = (own && java_size_take(&value, bytes)) || found;
    }
    return found;
}

size_t utf8_put(char *out, uint32_t code)
{
    size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t LEAD[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(LEAD[more] | code >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    return more + 1;
}
