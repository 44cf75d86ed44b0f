/*
 * random: numbers that are the same on every machine for the same seed.
 *
 * xoshiro256** seeded by splitmix64 (Blackman, Vigna 2018). Plain data; any thread that owns it.
 */
#pragma once

#include <stdint.h>

struct random {
    uint64_t state[4];
};

void random_init(struct random *random, uint64_t seed);
double random_uniform(struct random *random); /* [0, 1) */
double random_between(struct random *random, double low, double high);
double random_gauss(struct random *random);                    /* mean 0, variance 1 */
double random_exponential(struct random *random, double mean); /* waiting time */
