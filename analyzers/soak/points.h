/*
 * points: the raw course of a series, kept for comparisons: at most POINTS_MAX, whatever the
 * length. When it is full neighbours are merged two by two (mean time, mean value), so that hours
 * stay evenly covered. Times go up; a point that steps back is dropped.
 *
 *   struct points {0} -> points_add ... -> points_free
 *
 * One thread.
 */
#ifndef ANALYZERS_SOAK_POINTS_H
#define ANALYZERS_SOAK_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#define POINTS_MAX 2048

struct point {
    int64_t ms;
    double value;
};

struct points {
    int count;
    int capacity;
    int each; /* samples that make one point */
    int pending;
    struct point sum; /* of the pending samples */
    struct point *at;
};

/* False only when out of memory: the point is then not kept. */
bool points_add(struct points *points, int64_t ms, double value);
void points_free(struct points *points);

#endif
