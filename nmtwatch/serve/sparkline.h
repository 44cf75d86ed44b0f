/*
 * sparkline: the shape of a few series over the whole life of a watch, in constant memory.
 *
 * Up to SPARK_POINTS points at equal distances. When they are full every other one goes and the
 * distance doubles: a minute is shown by the second, a week by the quarter of an hour. Missing is
 * SPARK_MISSING, not zero. Plain data, copy freely; any thread that owns it.
 */
#ifndef NMTWATCH_SERVE_SPARKLINE_H
#define NMTWATCH_SERVE_SPARKLINE_H

#include <stdbool.h>
#include <stdint.h>

#define SPARK_POINTS   96
#define SPARK_FIRST_MS 2000
#define SPARK_MISSING  (-1.0F)

enum spark_series { SPARK_RSS, SPARK_INTERNAL, SPARK_CLASS_METASPACE, SPARK_CLASSES, SPARK_COUNT };

struct sparkline {
    int count;
    int64_t step_ms; /* 0: nothing yet */
    int64_t next_ms;
    float value[SPARK_COUNT][SPARK_POINTS];
};

/* The values at this moment; taken when a point is due. */
bool sparkline_due(const struct sparkline *spark, int64_t ms);
void sparkline_add(struct sparkline *spark, int64_t ms, const float value[SPARK_COUNT]);

#endif
