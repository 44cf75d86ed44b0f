/*
 * thinned: a series of any length in fixed memory. When it is full every other point is dropped and
 * the distance between points doubles: days at 1 Hz stay evenly covered. The newest point is always
 * there. Plain data; any thread that owns it.
 */
#ifndef ANALYZERS_TREND_THINNED_H
#define ANALYZERS_TREND_THINNED_H

#include "analyzers/trend/theil_sen.h"

#include <stdint.h>

struct thinned {
    int count;
    int64_t gap_ms; /* points closer than this to their predecessor replace the newest */
    struct {
        int64_t ms;
        int64_t value;
    } point[THEIL_SEN_POINTS_MAX];
};

void thinned_add(struct thinned *series, int64_t ms, int64_t value);
/* Per hour; false when too few points. */
bool thinned_slope_per_h(const struct thinned *series, struct theil_sen *out);
/* Growth in the second half of the time over growth in the first; false when the first did not
 * grow. */
bool thinned_halving_ratio(const struct thinned *series, double *ratio);

#endif
