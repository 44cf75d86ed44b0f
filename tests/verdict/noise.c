#include "tests/verdict/noise.h"

#include <math.h>

/* Pink noise: neighbours in time constant, and the share of each in the sum. */
#define PINK_RATIO 4.0
#define PINK_SHARE 0.5 /* sqrt(1 / NOISE_MEMORIES) */

void noise_init(struct noise *noise, enum noise_kind kind, double sigma, double tau_s,
                struct random *random)
{
    *noise = (struct noise){.kind = kind, .sigma = sigma, .tau_s = tau_s};
    for (int i = 0; i < NOISE_MEMORIES; i++)
        noise->memory[i] = random_gauss(random);
    if (kind == NOISE_TELEGRAPH)
        noise->memory[0] = noise->memory[0] > 0 ? 1 : -1;
    if (kind == NOISE_WALK)
        noise->memory[0] = random_between(random, -1, 1);
}

/* One step of an AR(1) process of variance 1, exact for any dt. */
static double remember(double *memory, double dt_s, double tau_s, struct random *random)
{
    double phi = exp(-dt_s / tau_s);
    *memory = phi * *memory + sqrt(1 - phi * phi) * random_gauss(random);
    return *memory;
}

/* Between -1 and 1; tau is the time to cross. Its distribution is even: deviation 1/sqrt 3. */
static double walk(double *at, double dt_s, double tau_s, struct random *random)
{
    *at += sqrt(dt_s / tau_s) * random_gauss(random);
    while (*at > 1 || *at < -1)
        *at = *at > 1 ? 2 - *at : -2 - *at;
    return *at * sqrt(3);
}

static double unit(struct noise *noise, double dt_s, struct random *random)
{
    double sum = 0;
    switch (noise->kind) {
    case NOISE_NONE:
        return 0;
    case NOISE_WHITE:
        return random_gauss(random);
    case NOISE_AR1:
        return remember(&noise->memory[0], dt_s, noise->tau_s, random);
    case NOISE_LAPLACE:
        return (random_exponential(random, 1) - random_exponential(random, 1)) / sqrt(2);
    case NOISE_STUDENT:
        for (int i = 0; i < 3; i++) {
            double g = random_gauss(random);
            sum += g * g;
        }
        return random_gauss(random) / sqrt(sum / 3) / sqrt(3);
    case NOISE_TELEGRAPH:
        if (random_uniform(random) < 1 - exp(-dt_s / noise->tau_s))
            noise->memory[0] = -noise->memory[0];
        return noise->memory[0];
    case NOISE_PINK:
        for (int i = 0; i < NOISE_MEMORIES; i++)
            sum += remember(&noise->memory[i], dt_s, noise->tau_s * pow(PINK_RATIO, i - 3), random);
        return sum * PINK_SHARE;
    case NOISE_WALK:
        return walk(&noise->memory[0], dt_s, noise->tau_s, random);
    }
    return 0;
}

double noise_next(struct noise *noise, double dt_s, struct random *random)
{
    return noise->sigma * unit(noise, dt_s, random);
}
