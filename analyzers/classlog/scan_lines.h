/*
 * scan_lines: the loop over the lines of a class-load log, for the innards of classlog.c.
 *
 * One text (scan_loop.h), compiled three times: for AVX2, for SSE2, and in plain C for any
 * processor. All three count the same. A line whose head and body were seen before is counted here;
 * every other goes to classlog_line, which knows everything and teaches the loop.
 */
#ifndef ANALYZERS_CLASSLOG_SCAN_LINES_H
#define ANALYZERS_CLASSLOG_SCAN_LINES_H

#include "analyzers/classlog/body_cache.h"
#include "analyzers/classlog/classlog.h"

/* What the times in a log are; decided by its first load or unload. */
enum log_clock { LOG_CLOCK_UNKNOWN, LOG_CLOCK_UPTIME, LOG_CLOCK_WALL, LOG_CLOCK_LINES };

struct classlog {
    struct classlog_totals totals;
    struct line_heads heads;
    struct time_line time;
    enum log_clock clock;
    char minute[sizeof "2026-11-20T21:58" - 1]; /* of the last ISO 8601 time, and its zone; */
    char zone[sizeof "+0000" - 1];
    int64_t minute_ms;
    uint64_t clock_text[2]; /* of the last time in seconds: most lines repeat it */
    bool count_only;
    struct class_rows rows;
    struct body_cache *cache;
    size_t (*scan)(struct classlog *log, const char *text, size_t len);
};

/* head: the one the line has, or NULL; hash: of what is behind it, 0 when it was not made. */
void classlog_line(struct classlog *log, struct span line, const struct line_head *head,
                   uint64_t hash);

size_t scan_lines_avx2(struct classlog *log, const char *text, size_t len);
size_t scan_lines_sse2(struct classlog *log, const char *text, size_t len);
size_t scan_lines_plain(struct classlog *log, const char *text, size_t len);

#endif
