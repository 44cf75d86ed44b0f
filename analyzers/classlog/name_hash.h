/*
 * name_hash: 64 bits of a class name that 128 bytes at a time can be computed of at once, with the
 * same result on every processor.
 *
 * Each eight bytes become one product: (low half + key) * (high half + key), halves of 32 bits, a
 * key per place; the products are added (NH, the first stage of UMAC, RFC 4418). Two different
 * names have the same sum once in 2^32; the sum is mixed to 64 bits. For counting names, not
 * against somebody who looks for two that collide.
 *
 * No state; any thread.
 */
#ifndef ANALYZERS_CLASSLOG_NAME_HASH_H
#define ANALYZERS_CLASSLOG_NAME_HASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NAME_HASH_BYTES 128 /* at a time */

/* Bits of the fractional parts of the square roots of 2, 3, 5, ... 53: nothing up the sleeve. */
static const uint64_t name_hash_keys[NAME_HASH_BYTES / 8] __attribute__((aligned(64), unused)) = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179), UINT64_C(0xcbbb9d5dc1059ed8),
    UINT64_C(0x629a292a367cd507), UINT64_C(0x9159015a3070dd17), UINT64_C(0x152fecd8f70e5939),
    UINT64_C(0x67332667ffc00b31), UINT64_C(0x8eb44a8768581511), UINT64_C(0xdb0c2e0d64f98fa7),
    UINT64_C(0x47b5481dbefa4fa4)};

static inline uint64_t name_hash_mix(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ (hash >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ (hash >> 32);
}

static inline uint64_t name_hash_word(uint64_t word, uint64_t key)
{
    return (uint64_t)((uint32_t)word + (uint32_t)key) *
           (uint32_t)((uint32_t)(word >> 32) + (uint32_t)(key >> 32));
}

/* Of a name of any length; whoever has 128 readable bytes uses pair_name_hash (block.h). */
static inline uint64_t name_hash(const char *text, size_t len)
{
    uint64_t hash = len;
    do {
        size_t now = len < NAME_HASH_BYTES ? len : NAME_HASH_BYTES;
        uint64_t words[NAME_HASH_BYTES / 8] = {0}, sum = 0;
        memcpy(words, text, now);
        for (size_t i = 0; i < NAME_HASH_BYTES / 8; i++)
            sum += name_hash_word(le64toh(words[i]), name_hash_keys[i]);
        hash = name_hash_mix(hash, sum);
        text += now;
        len -= now;
    } while (len > 0);
    return hash;
}

#endif
