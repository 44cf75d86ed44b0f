/* x86-64: set bits. The instruction is not in every one, and the compiler's substitute is a call. */
#pragma once

#include <stdint.h>

static inline uint32_t bit_count(uint64_t bits)
{
#ifndef __POPCNT__
    if (__builtin_expect(__builtin_cpu_supports("popcnt") != 0, 1)) {
        __asm__("popcntq %0, %0" : "+r"(bits) : : "cc");
        return (uint32_t)bits;
    }
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
#else
    return (uint32_t)__builtin_popcountll(bits);
#endif
}
