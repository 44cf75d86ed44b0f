/*
 * time_line: loads and unloads over time, of a log whose length nobody knows beforehand.
 *
 * A bucket is 1 ms wide at first. When there are more than TIME_LINE_BUCKETS of them, ten (or six,
 * or whatever leads to the next width of a clock) become one: so a log of any length is held in
 * about 100 to 1000 buckets, of a width people know.
 *
 * Time is what the log says: uptime, or else time of day. Steps backwards are mended: one of more
 * than RESTART_MS is another JVM's start (or a clock that was set), from where time goes on; a
 * smaller one is two threads' lines that changed places. A log without times is held by its lines:
 * read "line" for "ms" then.
 *
 *   time_line_set, now->loads++ ... -> bucket[0 .. bucket_count), each width_ms long
 *
 * A zeroed struct is an empty one. Calling context: one thread.
 */
#ifndef ANALYZERS_CLASSLOG_TIME_LINE_H
#define ANALYZERS_CLASSLOG_TIME_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define TIME_LINE_BUCKETS  1024
#define TIME_LINE_RESTARTS 32 /* remembered; all are counted */
#define RESTART_MS         1000

struct time_bucket {
    int64_t loads;
    int64_t unloads;
};

struct time_line {
    /* While 0 <= log_ms - bucket_from_ms < width_ms, *now is the bucket. */
    int64_t bucket_from_ms; /* as the log counts, not mended */
    uint64_t width_ms;      /* 0: nothing was fed yet */
    struct time_bucket *now;
    int64_t log_ms; /* last time fed; */
    int64_t ms;     /* since the beginning */

    int64_t first_ms; /* as the log said it */
    int64_t mend_ms;  /* the log's time + mend_ms - first_ms is the time since the beginning */
    int64_t last_ms;  /* since the beginning; the highest so far */
    int width;        /* index of width_ms */
    int bucket_count;
    int64_t restarts;
    int64_t restart_ms[TIME_LINE_RESTARTS];

    /* Marks at times that double: how things were a while ago, without keeping all of them. */
    uint32_t marks;
    int64_t mark_ms, mark_before_ms;

    struct time_bucket bucket[TIME_LINE_BUCKETS];
};

/* For a time outside of the bucket, or the first. */
void time_line_move(struct time_line *line, int64_t log_ms);

/* It is log_ms now. */
static inline void time_line_set(struct time_line *line, int64_t log_ms)
{
    if ((uint64_t)(log_ms - line->bucket_from_ms) >= line->width_ms ||
        log_ms < line->log_ms - RESTART_MS)
        time_line_move(line, log_ms);
    line->log_ms = log_ms;
    line->ms = log_ms + line->mend_ms - line->first_ms;
}

#endif
