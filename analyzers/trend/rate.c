#include "analyzers/trend/rate.h"

static int slot(const struct rate *rate, int i)
{
    return (rate->head + i) % RATE_POINTS;
}

void rate_add(struct rate *rate, int64_t ms, int64_t value)
{
    if (rate->count > 0) {
        int newest = slot(rate, rate->count - 1);
        if (ms < rate->point[newest].ms || value < rate->point[newest].value) {
            rate->count = 0;
            rate->head = 0;
        } else if (rate->count > 1 &&
                   ms - rate->point[slot(rate, rate->count - 2)].ms < RATE_MIN_GAP_MS) {
            rate->point[newest].ms = ms;
            rate->point[newest].value = value;
            return;
        }
    }
    if (rate->count == RATE_POINTS) {
        rate->head = (rate->head + 1) % RATE_POINTS;
        rate->count--;
    }
    int at = slot(rate, rate->count++);
    rate->point[at].ms = ms;
    rate->point[at].value = value;
}

bool rate_before(const struct rate *rate, int64_t ago_ms, int64_t span_ms, double *per_s)
{
    int to = rate->count - 1;
    if (to < 1)
        return false;
    int64_t until_ms = rate->point[slot(rate, to)].ms - ago_ms;
    while (to > 0 && rate->point[slot(rate, to)].ms > until_ms)
        to--;
    int from = to;
    int64_t to_ms = rate->point[slot(rate, to)].ms;
    while (from > 0 && to_ms - rate->point[slot(rate, from - 1)].ms <= span_ms)
        from--;
    int64_t covered_ms = to_ms - rate->point[slot(rate, from)].ms;
    if (covered_ms <= 0 || covered_ms * 2 < span_ms)
        return false;
    int64_t rise = rate->point[slot(rate, to)].value - rate->point[slot(rate, from)].value;
    *per_s = (double)rise * 1000.0 / (double)covered_ms;
    return true;
}

bool rate_over(const struct rate *rate, int64_t span_ms, double *per_s)
{
    return rate_before(rate, 0, span_ms, per_s);
}
