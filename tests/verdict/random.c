#include "tests/verdict/random.h"

#include <math.h>

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void random_init(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        random->state[i] = splitmix(&seed);
}

static uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t next(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double random_uniform(struct random *random)
{
    return (double)(next(random) >> 11) * 0x1p-53;
}

double random_between(struct random *random, double low, double high)
{
    return low + (high - low) * random_uniform(random);
}

/* Marsaglia's polar method; the second number is dropped, so that a draw has no hidden state. */
double random_gauss(struct random *random)
{
    for (;;) {
        double u = 2 * random_uniform(random) - 1, v = 2 * random_uniform(random) - 1;
        double s = u * u + v * v;
        if (s > 0 && s < 1)
            return u * sqrt(-2 * log(s) / s);
    }
}

double random_exponential(struct random *random, double mean)
{
    return -mean * log(1 - random_uniform(random));
}
