/*
 * rate: how fast a counter of the JVM rises, over windows of the last minutes.
 *
 * A counter that falls is a restart (or a damaged recording): the window starts anew. Memory is
 * fixed; points closer together than RATE_MIN_GAP_MS replace each other, so that a fast poll does
 * not shorten the window.
 *
 *   struct rate {0} -> rate_add ... -> rate_over
 *
 * Plain data, no ownership; any thread that owns it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RATE_POINTS     256
#define RATE_MIN_GAP_MS 500 /* 256 points: two minutes and more */

struct rate {
    int count;
    int head; /* index of the oldest point */
    struct {
        int64_t ms;
        int64_t value;
    } point[RATE_POINTS];
};

void rate_add(struct rate *rate, int64_t ms, int64_t value);
/* Increase per second between the newest point and the oldest one that is not older than span_ms
 * before it. False when fewer than two points or less than half the span is covered. */
bool rate_over(const struct rate *rate, int64_t span_ms, double *per_s);
/* The same for the span that ends ago_ms before the newest point. */
bool rate_before(const struct rate *rate, int64_t ago_ms, int64_t span_ms, double *per_s);

/*
 * warmup: when a JVM has stopped starting up, derived from its class loads.
 *
 * Automatic: ends once class loads stayed below `quiet_per_s` for ten seconds; at the latest
 * `max_s` after the JVM's start (then nothing converged, and the reason says so). Without class
 * counters (no hsperfdata) only the clock is left, and the reason says that too. On request it ends
 * a given time after the watch began.
 *
 *   warmup_init -> warmup_add ... until it returns true (once)
 *
 * Plain data; any thread that owns it.
 */
#define WARMUP_QUIET_MS 10000

struct warmup {
    int64_t asked_s; /* < 0: automatic */
    int64_t max_s;
    int64_t quiet_per_s;
    bool over;
    bool started;
    bool have_window;
    int64_t first_ms;
    int64_t uptime_at_first_ms;
    int64_t quiet_from_ms; /* start of the present quiet window */
    int64_t quiet_from_loaded;
    char reason[96];
};

void warmup_init(struct warmup *warmup, int64_t asked_s, int64_t max_s, int64_t quiet_per_s,
                 int64_t uptime_ms);
/* classes_loaded < 0: not known. True exactly once: now it is over. */
bool warmup_add(struct warmup *warmup, int64_t ms, int64_t classes_loaded);
