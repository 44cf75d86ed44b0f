#include "analyzers/classlog/time_line.h"

/* Each divides the next. The last ten are for clocks that lie. */
static const int64_t widths_ms[] = {1,
                                    10,
                                    100,
                                    1000,
                                    10000,
                                    60000,
                                    600000,
                                    3600000,
                                    INT64_C(6) * 3600000,
                                    INT64_C(24) * 3600000,
                                    INT64_C(240) * 3600000,
                                    INT64_C(2400) * 3600000,
                                    INT64_C(24000) * 3600000,
                                    INT64_C(240000) * 3600000,
                                    INT64_C(2400000) * 3600000,
                                    INT64_C(24000000) * 3600000};
#define WIDTHS (int)(sizeof widths_ms / sizeof widths_ms[0])

/* 2.8 million years, and sums of such times and those of class_log.h do not overflow. */
#define LONGEST_MS (widths_ms[WIDTHS - 1] * TIME_LINE_BUCKETS)

static void widen(struct time_line *line)
{
    int factor = (int)(widths_ms[line->width + 1] / widths_ms[line->width]);
    int count = (line->bucket_count + factor - 1) / factor;
    for (int i = 0; i < count; i++) {
        struct time_bucket sum = {0, 0};
        for (int j = i * factor; j < (i + 1) * factor && j < line->bucket_count; j++) {
            sum.loads += line->bucket[j].loads;
            sum.unloads += line->bucket[j].unloads;
        }
        line->bucket[i] = sum;
    }
    for (int i = count; i < line->bucket_count; i++)
        line->bucket[i] = (struct time_bucket){0, 0};
    line->bucket_count = count;
    line->width++;
}

static void restart(struct time_line *line, int64_t log_ms)
{
    if (line->mend_ms < LONGEST_MS)
        line->mend_ms += line->log_ms - log_ms;
    if (line->restarts < TIME_LINE_RESTARTS)
        line->restart_ms[line->restarts] = log_ms + line->mend_ms - line->first_ms;
    line->restarts++;
}

void time_line_move(struct time_line *line, int64_t log_ms)
{
    if (line->width_ms == 0) {
        line->first_ms = line->log_ms = log_ms;
        line->bucket_count = 1;
    }
    if (log_ms < line->log_ms - RESTART_MS)
        restart(line, log_ms);
    int64_t ms = log_ms + line->mend_ms - line->first_ms;
    if (ms < 0)
        ms = 0;
    if (ms > LONGEST_MS - 1)
        ms = LONGEST_MS - 1;
    while (ms / widths_ms[line->width] >= TIME_LINE_BUCKETS)
        widen(line);
    int64_t width = widths_ms[line->width];
    int at = (int)(ms / width);
    if (at >= line->bucket_count)
        line->bucket_count = at + 1;
    line->now = &line->bucket[at];
    line->width_ms = (uint64_t)width;
    line->bucket_from_ms = at * width - line->mend_ms + line->first_ms;
    if (ms > line->last_ms)
        line->last_ms = ms;
    if (ms >= 2 * line->mark_ms && ms > 0) {
        line->mark_before_ms = line->mark_ms;
        line->mark_ms = ms;
        line->marks++;
    }
}
