#include "analyzers/trend/rate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* --- warmup ----------------------------------------------------------------------------------- */

void warmup_init(struct warmup *warmup, int64_t asked_s, int64_t max_s, int64_t quiet_per_s,
                 int64_t uptime_ms)
{
    memset(warmup, 0, sizeof *warmup);
    warmup->asked_s = asked_s;
    warmup->max_s = max_s;
    warmup->quiet_per_s = quiet_per_s;
    warmup->uptime_at_first_ms = uptime_ms;
}

static bool end(struct warmup *warmup)
{
    warmup->over = true;
    return true;
}

/* True when loads stayed below the quiet rate for WARMUP_QUIET_MS. */
static bool is_quiet(struct warmup *warmup, int64_t ms, int64_t classes_loaded)
{
    int64_t allowed = warmup->quiet_per_s * WARMUP_QUIET_MS / 1000;
    int64_t rise = classes_loaded - warmup->quiet_from_loaded;
    if (!warmup->have_window || rise < 0 || rise > allowed) {
        warmup->have_window = true;
        warmup->quiet_from_ms = ms;
        warmup->quiet_from_loaded = classes_loaded;
        return false;
    }
    return ms - warmup->quiet_from_ms >= WARMUP_QUIET_MS;
}

bool warmup_add(struct warmup *warmup, int64_t ms, int64_t classes_loaded)
{
    if (warmup->over)
        return false;
    if (!warmup->started) {
        warmup->started = true;
        warmup->first_ms = ms;
    }
    int64_t watched_ms = ms - warmup->first_ms;
    if (warmup->asked_s >= 0) {
        if (watched_ms < warmup->asked_s * 1000)
            return false;
        snprintf(warmup->reason, sizeof warmup->reason, "%" PRId64 " s, as asked", warmup->asked_s);
        return end(warmup);
    }
    if (classes_loaded >= 0 && is_quiet(warmup, ms, classes_loaded)) {
        snprintf(warmup->reason, sizeof warmup->reason, "class loads stayed below %" PRId64 "/s",
                 warmup->quiet_per_s);
        return end(warmup);
    }
    if (watched_ms >= WARMUP_QUIET_MS &&
        warmup->uptime_at_first_ms + watched_ms >= warmup->max_s * 1000) {
        snprintf(warmup->reason, sizeof warmup->reason, "%" PRId64 " s after the start: %s",
                 warmup->max_s,
                 classes_loaded >= 0 ? "class loads did not fall" : "class counters unknown");
        return end(warmup);
    }
    return false;
}
