/*
 * jfr_leb128: the integers of a JFR file: seven bits a byte, low ones first, the top bit says that
 * more follow; a ninth byte carries eight bits, so that 64 fit into nine.
 *
 * Each function writes at out and returns the place behind. The caller has room. Any context.
 */
#ifndef AGENT_JFR_JFR_LEB128_H
#define AGENT_JFR_JFR_LEB128_H

#include <stdint.h>

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

#endif
