/*
 * noise: what makes a series hard to judge. A stationary process of mean 0; see noises.def.
 *
 *   noise_init -> noise_next ...
 *
 * Plain data; any thread that owns it.
 */
#pragma once

#include "tests/verdict/random.h"

enum noise_kind {
#define NOISE(id, what) NOISE_##id,
#include "tests/verdict/noises.def"
#undef NOISE
};

#define NOISE_MEMORIES 4

struct noise {
    enum noise_kind kind;
    double sigma;
    double tau_s;
    double memory[NOISE_MEMORIES];
};

void noise_init(struct noise *noise, enum noise_kind kind, double sigma, double tau_s,
                struct random *random);
/* The noise dt_s after the one before. */
double noise_next(struct noise *noise, double dt_s, struct random *random);
