/*
 * jfr_cursor: bytes of a JFR chunk, taken forwards and never behind their end.
 *
 * What does not fit makes the cursor bad, and from then on everything taken is 0 or empty: whoever
 * takes asks once, when done. Integers are LEB128 with a ninth byte of eight bits. No ownership.
 */
#ifndef NMTWATCH_JFR_JFR_CURSOR_H
#define NMTWATCH_JFR_JFR_CURSOR_H

#include "analyzers/parse/span.h"

struct jfr_cursor {
    const uint8_t *at, *end;
    bool bad;
};

static inline const uint8_t *jfr_take_bytes(struct jfr_cursor *cursor, uint64_t length)
{
    if (cursor->bad || length > (uint64_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += length;
    return bytes;
}

static inline uint8_t jfr_take_byte(struct jfr_cursor *cursor)
{
    const uint8_t *byte = jfr_take_bytes(cursor, 1);
    return byte != NULL ? *byte : 0;
}

static inline uint64_t jfr_take(struct jfr_cursor *cursor)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        uint8_t byte = jfr_take_byte(cursor);
        value |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (byte < 0x80)
            return value;
    }
    return value | (uint64_t)jfr_take_byte(cursor) << 56;
}

enum jfr_string_encoding {
    JFR_STRING_NULL,
    JFR_STRING_EMPTY,
    JFR_STRING_POOL,
    JFR_STRING_UTF8,
    JFR_STRING_CHARS,
    JFR_STRING_LATIN1,
};

struct jfr_string {
    enum jfr_string_encoding encoding;
    uint64_t pool_id;  /* of JFR_STRING_POOL */
    struct span bytes; /* as they are in the file */
};

static inline struct jfr_string jfr_take_string(struct jfr_cursor *cursor)
{
    struct jfr_string string = {.encoding = (enum jfr_string_encoding)jfr_take_byte(cursor)};
    uint64_t length;
    switch (string.encoding) {
    case JFR_STRING_NULL:
    case JFR_STRING_EMPTY:
        break;
    case JFR_STRING_POOL:
        string.pool_id = jfr_take(cursor);
        break;
    case JFR_STRING_UTF8:
    case JFR_STRING_LATIN1:
        length = jfr_take(cursor);
        string.bytes.ptr = (const char *)jfr_take_bytes(cursor, length);
        string.bytes.len = string.bytes.ptr != NULL ? length : 0;
        break;
    case JFR_STRING_CHARS:
        length = jfr_take(cursor);
        string.bytes.ptr = (const char *)cursor->at;
        for (; length > 0 && !cursor->bad; length--)
            jfr_take(cursor);
        string.bytes.len = (size_t)((const char *)cursor->at - string.bytes.ptr);
        break;
    default:
        cursor->bad = true;
    }
    return string;
}

#endif
