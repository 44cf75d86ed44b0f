/*
 * fold_hash: 64 bits for the bytes of a stack or a text, or for a word. The one hash function of the
 * agent, except the checksums of mem.c, context.h and wire_formats.h.
 *
 * Multiply-fold, as in wyhash: two words at a time, their 128-bit product folded into 64 bits; one
 * multiplication a frame. FNV-1a by words was the other candidate, but a multiplication modulo 2^64
 * only carries upwards: the high bits of an address never reach the low bits of its hash, and those
 * choose the place in a table.
 *
 * Equal hashes are no proof of equal bytes: callers compare. Any context; inline, so that files of
 * signal context reach no other symbol than memcpy by it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t fold_multiply(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of an address or a number: all bits of the result depend on all of its. */
static inline uint64_t fold_word(uint64_t word)
{
    return fold_multiply(word ^ UINT64_C(0xE7037ED1A0B428DB), UINT64_C(0x9E3779B97F4A7C15));
}

/* seed: what else two inputs differ in. Never 0, which means "no key" to tables. */
static inline uint64_t fold_hash(const void *bytes, size_t length, uint64_t seed)
{
    const uint8_t *at = bytes, *end = at + length;
    uint64_t hash = seed ^ UINT64_C(0xD6E8FEB86659FD93);
    uint64_t first, second;
    for (; end - at >= 16; at += 16) {
        memcpy(&first, at, sizeof first);
        memcpy(&second, at + 8, sizeof second);
        hash = fold_multiply(first ^ UINT64_C(0x9E3779B97F4A7C15), second ^ hash);
    }
    first = second = 0;
    for (; at < end; at++) {
        first = first << 8 | second >> 56;
        second = second << 8 | *at;
    }
    hash = fold_multiply(first ^ UINT64_C(0xA0761D6478BD642F), second ^ hash);
    hash = fold_multiply(length ^ UINT64_C(0xE7037ED1A0B428DB), hash);
    return hash != 0 ? hash : 1;
}
