/*
 * despike: takes single wild samples out of a series before anything looks at it.
 *
 * A Hampel filter (Hampel, J. Am. Stat. Assoc. 69, 1974) of width five: a sample that is further
 * from the median of itself and its two neighbours on each side than six times their median
 * deviation, and than DESPIKE_BYTES, becomes that median. An edge, a ramp and a tooth pass
 * unchanged: they are not alone. The price is a delay of two samples.
 *
 *   struct despike {0} -> despike_push ...
 *
 * Plain data; any thread that owns it.
 */
#ifndef ANALYZERS_TREND_DESPIKE_H
#define ANALYZERS_TREND_DESPIKE_H

#include <stdbool.h>
#include <stdint.h>

#define DESPIKE_WIDTH 5
#define DESPIKE_BYTES 65536.0 /* below this nothing is worth being called wild */

struct despike_point {
    int64_t ms;
    int64_t regressor;
    double value;
};

struct despike {
    int count; /* in the window */
    struct despike_point window[DESPIKE_WIDTH];
};

/* True: *out is the sample two before this one. */
bool despike_push(struct despike *despike, const struct despike_point *in,
                  struct despike_point *out);

#endif
