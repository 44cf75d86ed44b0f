#include "floor/jfr/jfr_bytes.h"

#include <string.h>

enum string_encoding { STRING_NULL = 0, STRING_EMPTY = 1, STRING_UTF8 = 3 };

/* Four bytes of length hold 28 bits. */
#define TEXT_MAX_BYTES ((1u << 28) / 4)

uint8_t *jfr_bytes_room(struct jfr_bytes *bytes, size_t more)
{
    if (bytes->failed)
        return NULL;
    if (more > bytes->capacity - bytes->length && !jfr_bytes_grow(bytes, bytes->length + more)) {
        bytes->failed = true;
        return NULL;
    }
    return bytes->at + bytes->length;
}

void jfr_bytes_append(struct jfr_bytes *bytes, const void *from, size_t length)
{
    uint8_t *out = jfr_bytes_room(bytes, length);
    if (out == NULL || length == 0)
        return;
    memcpy(out, from, length);
    bytes->length += length;
}

void jfr_bytes_byte(struct jfr_bytes *bytes, uint8_t value)
{
    jfr_bytes_append(bytes, &value, 1);
}

void jfr_bytes_number(struct jfr_bytes *bytes, uint64_t value)
{
    uint8_t *out = jfr_bytes_room(bytes, JFR_LEB128_MAX);
    if (out != NULL)
        bytes->length += (size_t)(jfr_put(out, value) - out);
}

void jfr_bytes_numbers(struct jfr_bytes *bytes, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        jfr_bytes_number(bytes, (uint64_t)values[i]);
}

void jfr_bytes_int(struct jfr_bytes *bytes, int32_t value)
{
    jfr_bytes_number(bytes, (uint32_t)value);
}

/* --- text ------------------------------------------------------------------------------------- */

/* Code of one character in modified UTF-8, at most three bytes, and its length; -1: none, one byte.
 * The terminating NUL is no continuation byte, so nothing behind it is read. */
static int32_t take_unit(const uint8_t *at, size_t *length)
{
    *length = 1;
    if (at[0] < 0x80)
        return at[0];
    if ((at[0] & 0xe0) == 0xc0 && (at[1] & 0xc0) == 0x80) {
        int32_t code = (at[0] & 0x1f) << 6 | (at[1] & 0x3f);
        if (code >= 0x80 || code == 0) { /* C0 80 is how the JVM writes NUL */
            *length = 2;
            return code;
        }
    } else if ((at[0] & 0xf0) == 0xe0 && (at[1] & 0xc0) == 0x80 && (at[2] & 0xc0) == 0x80) {
        int32_t code = (at[0] & 0x0f) << 12 | (at[1] & 0x3f) << 6 | (at[2] & 0x3f);
        if (code >= 0x800) {
            *length = 3;
            return code;
        }
    }
    return -1;
}

/* Four bytes of standard UTF-8, which names of native threads and functions may hold. */
static int32_t take_four(const uint8_t *at)
{
    if ((at[0] & 0xf8) != 0xf0)
        return -1;
    for (int i = 1; i < 4; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return -1;
    }
    int32_t code =
        (at[0] & 0x07) << 18 | (at[1] & 0x3f) << 12 | (at[2] & 0x3f) << 6 | (at[3] & 0x3f);
    return code >= 0x10000 && code <= 0x10ffff ? code : -1;
}

int32_t jfr_text_character(const uint8_t *at, size_t *length)
{
    int32_t code = take_unit(at, length);
    if (code >= 0xd800 && code <= 0xdbff) {
        size_t second_length;
        int32_t second = take_unit(at + *length, &second_length);
        if (second < 0xdc00 || second > 0xdfff)
            return -1;
        *length += second_length;
        return 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    if (code >= 0xdc00 && code <= 0xdfff)
        return -1;
    if (code < 0) {
        code = take_four(at);
        if (code >= 0)
            *length = 4;
    }
    return code;
}

static uint8_t *put_character(uint8_t *out, int32_t code)
{
    if (code < 0)
        code = 0xfffd;
    if (code < 0x80) {
        *out++ = (uint8_t)code;
        return out;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    *out++ = (uint8_t)(lead[more] | code >> 6 * more);
    while (more-- > 0)
        *out++ = (uint8_t)(0x80 | (code >> 6 * more & 0x3f));
    return out;
}

void jfr_bytes_text(struct jfr_bytes *bytes, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        jfr_bytes_byte(bytes, text == NULL ? STRING_NULL : STRING_EMPTY);
        return;
    }
    size_t length = strnlen(text, TEXT_MAX_BYTES), ascii = 0;
    while (ascii < length && (uint8_t)text[ascii] < 0x80)
        ascii++;
    if (ascii == length) {
        jfr_bytes_byte(bytes, STRING_UTF8);
        jfr_bytes_number(bytes, length);
        jfr_bytes_append(bytes, text, length);
        return;
    }
    /* A bad byte grows to three. The length is known afterwards. */
    uint8_t *start = jfr_bytes_room(bytes, 1 + 4 + 3 * length);
    if (start == NULL)
        return;
    uint8_t *first = start + 1 + 4, *out = first;
    const uint8_t *at = (const uint8_t *)text, *end = at + length;
    while (at < end) {
        size_t taken;
        out = put_character(out, jfr_text_character(at, &taken));
        at += taken;
    }
    start[0] = STRING_UTF8;
    jfr_put_padded(start + 1, (uint32_t)(out - first), 4);
    bytes->length += (size_t)(out - start);
}
