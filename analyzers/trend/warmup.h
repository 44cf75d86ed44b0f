/*
 * warmup: when a JVM has stopped starting up, told from its class loads.
 *
 * Automatic: ends once class loads stayed below `quiet_per_s` for ten seconds; at the latest
 * `max_s` after the JVM's start (then nothing converged, and the reason says so). Without class
 * counters (no hsperfdata) only the clock is left, and the reason says that too. Asked for: ends so
 * many seconds after the watch began.
 *
 *   warmup_init -> warmup_add ... until it returns true (once)
 *
 * Plain data; any thread that owns it.
 */
#ifndef ANALYZERS_TREND_WARMUP_H
#define ANALYZERS_TREND_WARMUP_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
