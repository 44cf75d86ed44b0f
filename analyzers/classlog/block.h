/*
 * block: questions about 64 bytes of text at once; an answer is a bit per byte, bit 0 for the
 * first.
 *
 * Three implementations of the same functions, with the same answers: the file that includes this
 * one defines BLOCK_AVX2, BLOCK_SSE2 or neither (eight bytes at a time in plain C, for any
 * processor) and gets them as static functions.
 *
 *   block_of(p, c)       bytes equal to c
 *   block_same(p, q)     bytes equal in both blocks
 *   block_hexes(p)       0-9 a-f
 *   block_digits(p)      0-9
 *   pair_hash(...)       of 128 bytes, digits and a-f counted as the same; and where these are
 *   pair_name_hash(...)  of 128 bytes as they are: name_hash.h
 *
 * Whoever asks owns the readable bytes at p and q, whatever he makes of them.
 */
#ifndef ANALYZERS_CLASSLOG_BLOCK_H
#define ANALYZERS_CLASSLOG_BLOCK_H

#include "analyzers/classlog/name_hash.h"

#define BLOCK_BYTES 64
#define PAIR_BYTES  (2 * BLOCK_BYTES)

/* In front of a short loop that gcc would leave one at -O2. */
#if defined(__clang__)
#define BLOCK_UNROLL
#else
#define BLOCK_UNROLL _Pragma("GCC unroll 16")
#endif

/* The lowest n bits, n from 0 to 64. */
static inline __attribute__((unused)) uint64_t block_first(size_t n)
{
    return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

#if defined(BLOCK_AVX2) || defined(BLOCK_SSE2)
#include <immintrin.h>
/* block_cut + 128 - n: n bytes of zeros, then ones. */
static const unsigned char block_cut[256] __attribute__((aligned(64))) = {[128 ... 255] = 0xff};
#endif

#if defined(BLOCK_AVX2)

#define BLOCK_TARGET __attribute__((target("avx2,bmi,bmi2")))
#define BLOCK_CALL   static inline BLOCK_TARGET __attribute__((unused))
#define BLOCK_PARTS  2
typedef __m256i block_part;

BLOCK_CALL block_part block_load(const char *p, int i)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * i));
}
BLOCK_CALL block_part block_between(block_part v, char low, char span)
{
    v = _mm256_sub_epi8(v, _mm256_set1_epi8(low));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(span)), v);
}
BLOCK_CALL uint64_t block_bits(block_part v, int i)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(v) << (32 * i);
}
BLOCK_CALL block_part block_equal(block_part a, block_part b)
{
    return _mm256_cmpeq_epi8(a, b);
}
BLOCK_CALL block_part block_all(char c)
{
    return _mm256_set1_epi8(c);
}
BLOCK_CALL block_part block_or(block_part a, block_part b)
{
    return _mm256_or_si256(a, b);
}
/* Adds to the sum what name_hash.h says of these bytes, those of `out` taken as 0. */
BLOCK_CALL block_part block_fold(block_part sum, block_part v, block_part out, int i)
{
    v = _mm256_andnot_si256(out, v);
    v = _mm256_add_epi32(v, block_load((const char *)name_hash_keys, i));
    return _mm256_add_epi64(sum, _mm256_mul_epu32(v, _mm256_srli_epi64(v, 32)));
}
BLOCK_CALL uint64_t block_total(block_part sum)
{
    __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half)));
}

/* Ones for bytes that are not among the first n of 128. */
BLOCK_CALL block_part block_beyond(size_t n, int i)
{
    return block_load((const char *)block_cut + PAIR_BYTES - n, i);
}

#elif defined(BLOCK_SSE2)

#define BLOCK_TARGET
#define BLOCK_CALL  static inline __attribute__((unused, always_inline))
#define BLOCK_PARTS 4
typedef __m128i block_part;

BLOCK_CALL block_part block_load(const char *p, int i)
{
    return _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
}
BLOCK_CALL block_part block_between(block_part v, char low, char span)
{
    v = _mm_sub_epi8(v, _mm_set1_epi8(low));
    return _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(span)), v);
}
BLOCK_CALL uint64_t block_bits(block_part v, int i)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(v) << (16 * i);
}
BLOCK_CALL block_part block_equal(block_part a, block_part b)
{
    return _mm_cmpeq_epi8(a, b);
}
BLOCK_CALL block_part block_all(char c)
{
    return _mm_set1_epi8(c);
}
BLOCK_CALL block_part block_or(block_part a, block_part b)
{
    return _mm_or_si128(a, b);
}
BLOCK_CALL block_part block_fold(block_part sum, block_part v, block_part out, int i)
{
    v = _mm_andnot_si128(out, v);
    v = _mm_add_epi32(v, block_load((const char *)name_hash_keys, i));
    return _mm_add_epi64(sum, _mm_mul_epu32(v, _mm_srli_epi64(v, 32)));
}
BLOCK_CALL uint64_t block_total(block_part sum)
{
    return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum)));
}

BLOCK_CALL block_part block_beyond(size_t n, int i)
{
    return block_load((const char *)block_cut + PAIR_BYTES - n, i);
}

#else

#define BLOCK_TARGET
#define BLOCK_CALL  static inline __attribute__((unused, always_inline))
#define BLOCK_PARTS 8
typedef uint64_t block_part; /* a byte that is meant is 0xff */

#define BLOCK_ONES  UINT64_C(0x0101010101010101)
#define BLOCK_TOPS  UINT64_C(0x8080808080808080)
#define BLOCK_LOWER UINT64_C(0x7f7f7f7f7f7f7f7f)

BLOCK_CALL block_part block_load(const char *p, int i)
{
    uint64_t word;
    memcpy(&word, p + 8 * i, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}
/* From the top bit of each byte to the whole byte. */
BLOCK_CALL block_part block_spread(uint64_t tops)
{
    return (tops >> 7) * 0xff;
}
BLOCK_CALL block_part block_between(block_part v, char low, char span)
{
    uint64_t seven = v & BLOCK_LOWER;
    uint64_t not_below = seven + BLOCK_ONES * (uint64_t)(0x80 - low);
    uint64_t above = seven + BLOCK_ONES * (uint64_t)(0x7f - low - span);
    return block_spread(not_below & ~above & ~v & BLOCK_TOPS);
}
BLOCK_CALL uint64_t block_bits(block_part v, int i)
{
    return (((v & BLOCK_TOPS) >> 7) * UINT64_C(0x0102040810204080)) >> 56 << (8 * i);
}
BLOCK_CALL block_part block_equal(block_part a, block_part b)
{
    uint64_t differ = a ^ b;
    return block_spread(~(((differ & BLOCK_LOWER) + BLOCK_LOWER) | differ) & BLOCK_TOPS);
}
BLOCK_CALL block_part block_all(char c)
{
    return BLOCK_ONES * (unsigned char)c;
}
BLOCK_CALL block_part block_or(block_part a, block_part b)
{
    return a | b;
}
BLOCK_CALL block_part block_fold(block_part sum, block_part v, block_part out, int i)
{
    return sum + name_hash_word(v & ~out, name_hash_keys[i]);
}
BLOCK_CALL uint64_t block_total(block_part sum)
{
    return sum;
}

BLOCK_CALL block_part block_beyond(size_t n, int i)
{
    size_t before = (size_t)i * 8;
    return n >= before + 8 ? 0 : n <= before ? ~UINT64_C(0) : ~UINT64_C(0) << (8 * (n - before));
}

#endif

BLOCK_CALL uint64_t block_of(const char *p, char c)
{
    uint64_t bits = 0;
    BLOCK_UNROLL
    for (int i = 0; i < BLOCK_PARTS; i++)
        bits |= block_bits(block_equal(block_load(p, i), block_all(c)), i);
    return bits;
}

BLOCK_CALL uint64_t block_digits(const char *p)
{
    uint64_t bits = 0;
    BLOCK_UNROLL
    for (int i = 0; i < BLOCK_PARTS; i++)
        bits |= block_bits(block_between(block_load(p, i), '0', 9), i);
    return bits;
}

BLOCK_CALL uint64_t block_hexes(const char *p)
{
    uint64_t bits = 0;
    BLOCK_UNROLL
    for (int i = 0; i < BLOCK_PARTS; i++) {
        block_part v = block_load(p, i);
        bits |= block_bits(block_or(block_between(v, '0', 9), block_between(v, 'a', 5)), i);
    }
    return bits;
}

BLOCK_CALL uint64_t block_same(const char *p, const char *q)
{
    uint64_t bits = 0;
    BLOCK_UNROLL
    for (int i = 0; i < BLOCK_PARTS; i++)
        bits |= block_bits(block_equal(block_load(p, i), block_load(q, i)), i);
    return bits;
}

/* Of the first n bytes, at most 128; whatever n is, 128 are read. */
BLOCK_CALL uint64_t pair_hash(const char *p, size_t n, uint64_t digits[2], uint64_t hexes[2])
{
    block_part sum = block_all(0);
    BLOCK_UNROLL
    for (int half = 0; half < 2; half++) {
        digits[half] = hexes[half] = 0;
        BLOCK_UNROLL
        for (int i = 0; i < BLOCK_PARTS; i++) {
            int part = half * BLOCK_PARTS + i;
            block_part v = block_load(p, part);
            block_part digit = block_between(v, '0', 9);
            block_part hex = block_or(digit, block_between(v, 'a', 5));
            digits[half] |= block_bits(digit, i);
            hexes[half] |= block_bits(hex, i);
            sum = block_fold(sum, v, block_or(hex, block_beyond(n, part)), part);
        }
    }
    return block_total(sum);
}

BLOCK_CALL uint64_t pair_name_hash(const char *p, size_t n)
{
    block_part sum = block_all(0);
    BLOCK_UNROLL
    for (int i = 0; i < 2 * BLOCK_PARTS; i++)
        sum = block_fold(sum, block_load(p, i), block_beyond(n, i), i);
    return block_total(sum);
}

#endif
