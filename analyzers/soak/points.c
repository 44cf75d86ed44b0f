#include "analyzers/soak/points.h"

#include <stdlib.h>

static bool reserve(struct points *points)
{
    if (points->count < points->capacity)
        return true;
    int capacity = points->capacity == 0 ? 64 : points->capacity * 2;
    struct point *at = realloc(points->at, (size_t)capacity * sizeof *at);
    if (at == NULL)
        return false;
    points->at = at;
    points->capacity = capacity;
    return true;
}

static void halve(struct points *points)
{
    int kept = 0;
    for (int i = 0; i + 1 < points->count; i += 2, kept++) {
        const struct point *a = &points->at[i], *b = a + 1;
        points->at[kept] = (struct point){a->ms + (b->ms - a->ms) / 2, (a->value + b->value) / 2};
    }
    points->count = kept;
    points->each *= 2;
}

bool points_add(struct points *points, int64_t ms, double value)
{
    if (points->each == 0)
        points->each = 1;
    if (points->count > 0 && ms <= points->at[points->count - 1].ms)
        return true;
    if (points->pending == 0)
        points->sum = (struct point){ms, 0};
    points->sum.value += value;
    if (++points->pending < points->each)
        return true;
    if (points->count == POINTS_MAX)
        halve(points);
    if (!reserve(points))
        return false;
    points->at[points->count++] = (struct point){points->sum.ms + (ms - points->sum.ms) / 2,
                                                 points->sum.value / points->pending};
    points->pending = 0;
    return true;
}

void points_free(struct points *points)
{
    free(points->at);
    *points = (struct points){0};
}
