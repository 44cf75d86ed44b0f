/*
 * jfr_bytes: encoded values in a growing buffer.
 *
 * Running out of memory is remembered (failed) and nothing more is taken: the caller asks once, at the
 * end. Ownership: free with jfr_bytes_free. Drain thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jfr_bytes {
    uint8_t *at;
    size_t length;
    size_t capacity;
    bool failed;
};

/* Room for more bytes behind length; NULL when there is none. */
uint8_t *jfr_bytes_room(struct jfr_bytes *bytes, size_t more);
void jfr_bytes_append(struct jfr_bytes *bytes, const void *from, size_t length);
void jfr_bytes_byte(struct jfr_bytes *bytes, uint8_t value);
void jfr_bytes_number(struct jfr_bytes *bytes, uint64_t value);
/* Several, of any integer types. */
void jfr_bytes_numbers(struct jfr_bytes *bytes, const int64_t *values, size_t count);
#define JFR_NUMBERS(bytes, ...)                                                                    \
    jfr_bytes_numbers(bytes, (const int64_t[]){__VA_ARGS__},                                       \
                      sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
void jfr_bytes_int(struct jfr_bytes *bytes, int32_t value);
/* The JVM's modified UTF-8 as a JFR string of standard UTF-8: surrogate pairs are joined, what is
 * no character is written as U+FFFD. NULL is the null string. */
void jfr_bytes_text(struct jfr_bytes *bytes, const char *text);
/* The character at this place of the JVM's text, and how many bytes it takes; -1: there is none
 * (length 1). */
int32_t jfr_text_character(const uint8_t *at, size_t *length);

/* Memory is that of who links: the agent's account (jfr_types.c), or malloc in nmtwatch. capacity becomes
 * at least wanted. */
bool jfr_bytes_grow(struct jfr_bytes *bytes, size_t wanted);
void jfr_bytes_free(struct jfr_bytes *bytes);

/*
 * jfr_leb128: the integers of a JFR file: seven bits a byte, low ones first, the top bit says that
 * more follow; a ninth byte carries eight bits, so that 64 fit into nine.
 *
 * Each function writes at out and returns the place behind. The caller has room. Any context.
 */
#define JFR_LEB128_MAX 9

static inline uint8_t *jfr_put(uint8_t *out, uint64_t value)
{
    for (int i = 0; i < JFR_LEB128_MAX - 1 && value >= 0x80; i++) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

/* A 32-bit number that may be negative: readers take the low 32 bits. */
static inline uint8_t *jfr_put_int(uint8_t *out, int32_t value)
{
    return jfr_put(out, (uint32_t)value);
}

/* A number below 1 << 7 * width in exactly width bytes: for lengths known only afterwards. */
static inline uint8_t *jfr_put_padded(uint8_t *out, uint32_t value, int width)
{
    for (int i = 1; i < width; i++) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}
