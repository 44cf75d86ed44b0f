/* injected: noise and series whose truth is known, for the tests of this folder. */
#pragma once

#include <math.h>
#include <stdint.h>

#define MB 1048576.0

/* xorshift64*, Marsaglia and Vigna: [0, 1) */
static inline double injected_uniform(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (double)((*seed * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

static inline double injected_gauss(uint64_t *seed)
{
    double a = injected_uniform(seed), b = injected_uniform(seed);
    return sqrt(-2 * log(a + 1e-300)) * cos(6.283185307179586 * b);
}

/* One step of an AR(1) process of variance 1. */
static inline double injected_memory(double before, double r, uint64_t *seed)
{
    return r * before + sqrt(1 - r * r) * injected_gauss(seed);
}
