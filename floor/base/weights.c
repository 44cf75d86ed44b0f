#include "floor/base/weights.h"

#include <math.h>

/* p(s). expm1: of an object far smaller than the interval 1 - exp() would keep few digits. */
static double probability(int64_t size, int64_t interval_bytes)
{
    return interval_bytes <= 0 ? 1 : -expm1(-(double)size / (double)interval_bytes);
}

double weight_unscaled(int64_t size, int64_t interval_bytes)
{
    if (size <= 0) /* the limit; no object is that small */
        return (double)interval_bytes;
    return (double)size / probability(size, interval_bytes);
}

double weight_calibration(double exact, double sizes, double unscaled)
{
    if (unscaled <= sizes)
        return 1;
    return exact > sizes ? (exact - sizes) / (unscaled - sizes) : 0;
}

double weight_of(int64_t size, double unscaled, double calibration)
{
    return (double)size + (unscaled - (double)size) * calibration;
}

double weight_variance(int64_t size, int64_t interval_bytes, double weight)
{
    return (1 - probability(size, interval_bytes)) * weight * weight;
}

void weight_sums_add(struct weight_sums *sums, int64_t size, int64_t interval_bytes)
{
    double unscaled = weight_unscaled(size, interval_bytes), own = (double)size;
    double excess = unscaled - own, missed = 1 - probability(size, interval_bytes);
    sums->samples++;
    sums->sizes += own;
    sums->unscaled += unscaled;
    sums->variance[0] += missed * own * own;
    sums->variance[1] += missed * 2 * own * excess;
    sums->variance[2] += missed * excess * excess;
}

void weight_sums_merge(struct weight_sums *into, const struct weight_sums *sums)
{
    into->samples += sums->samples;
    into->sizes += sums->sizes;
    into->unscaled += sums->unscaled;
    for (int i = 0; i < 3; i++)
        into->variance[i] += sums->variance[i];
}

double weight_sums_bytes(const struct weight_sums *sums, double calibration)
{
    return sums->sizes + (sums->unscaled - sums->sizes) * calibration;
}

double weight_sums_variance(const struct weight_sums *sums, double calibration)
{
    return sums->variance[0] + calibration * (sums->variance[1] + calibration * sums->variance[2]);
}
