#include "analyzers/parse/span.h"

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
        text = span_of(text.ptr + 1, text.len - 1);
    while (text.len > 0 && is_margin(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

bool span_next_line(struct span *rest, struct span *line, bool *terminated)
{
    if (rest->len == 0)
        return false;
    const char *end = memchr(rest->ptr, '\n', rest->len);
    *terminated = end != NULL;
    size_t taken = end ? (size_t)(end - rest->ptr) + 1 : rest->len;
    *line = span_of(rest->ptr, end ? taken - 1 : taken);
    if (end && line->len > 0 && line->ptr[line->len - 1] == '\r')
        line->len--;
    *rest = span_of(rest->ptr + taken, rest->len - taken);
    return true;
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
    for (; at < text->len && text->ptr[at] >= '0' && text->ptr[at] <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, text->ptr[at] - '0', &number))
            return false;
    }
    if (at == first_digit || (!negative && number == INT64_MIN))
        return false;
    *value = negative ? number : -number;
    *text = span_of(text->ptr + at, text->len - at);
    return true;
}

bool span_take_unsigned(struct span *text, int64_t *value)
{
    return text->len > 0 && text->ptr[0] >= '0' && text->ptr[0] <= '9' &&
           span_take_i64(text, value);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
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
    *text = span_of(text->ptr + digits, text->len - digits);
    return true;
}

bool span_take(struct span *text, struct span literal)
{
    if (!span_starts_with(*text, literal))
        return false;
    *text = span_of(text->ptr + literal.len, text->len - literal.len);
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
