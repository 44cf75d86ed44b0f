#include "analyzers/classlog/classlog.h"

#include "analyzers/classlog/line_head.h"

#include <stdlib.h>

struct classlog {
    struct classlog_totals totals;
    struct line_heads heads;
    struct time_line time;
    enum classlog_clock clock; /* 0: not decided yet */
    bool count_only;
    struct class_rows rows;
};

/* --- life ------------------------------------------------------------------------------------- */

struct classlog *classlog_create(const struct classlog_options *options)
{
    struct classlog *log = calloc(1, sizeof *log);
    if (log == NULL)
        return NULL;
    log->count_only = options->count_only;
    if (log->count_only || class_rows_init(&log->rows, options->row_max))
        return log;
    classlog_destroy(log);
    return NULL;
}

void classlog_destroy(struct classlog *log)
{
    if (log == NULL)
        return;
    class_rows_free(&log->rows);
    free(log);
}

/* --- a line ----------------------------------------------------------------------------------- */

static void take_time(struct classlog *log, const struct class_log_line *line)
{
    if (log->clock == 0)
        log->clock = line->uptime_ms >= 0 ? CLASSLOG_UPTIME
                     : line->wall_ms >= 0 ? CLASSLOG_WALL
                                          : CLASSLOG_LINES;
    int64_t ms = log->time.log_ms;
    if (log->clock == CLASSLOG_LINES)
        ms = log->totals.lines;
    else if (log->clock == CLASSLOG_UPTIME && line->uptime_ms >= 0)
        ms = line->uptime_ms;
    else if (log->clock == CLASSLOG_WALL && line->uptime_ms < 0 && line->wall_ms >= 0)
        ms = line->wall_ms;
    time_line_set(&log->time, ms);
}

static void count(struct classlog *log, const struct class_log_line *line)
{
    bool load = line->kind == CLASS_LOG_LOAD;
    *(load ? &log->totals.loads : &log->totals.unloads) += 1;
    if (log->count_only)
        return;
    take_time(log, line);
    *(load ? &log->time.now->loads : &log->time.now->unloads) += 1;
    struct log_place at = {log->totals.lines, log->time.ms};
    if (load)
        class_rows_load(&log->rows, line->name, line->source, at, &log->time);
    else
        class_rows_unload(&log->rows, line->name, at, &log->time);
}

/* A line whose head was not seen before. */
static void parse_line(struct classlog *log, struct span text)
{
    struct class_log_line line = class_log_parse(text);
    log->totals.unparsed += line.claims;
    if (line.kind == CLASS_LOG_OTHER)
        return;
    line_heads_learn(&log->heads, text, &line);
    count(log, &line);
}

static struct span without_return(struct span line)
{
    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* --- feeding and asking ----------------------------------------------------------------------- */

size_t classlog_feed(struct classlog *log, const char *text, size_t len)
{
    const char *at = text, *end = text + len, *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        struct span raw = without_return(span_of(at, (size_t)(newline - at)));
        struct class_log_line line;
        log->totals.lines++;
        if (line_heads_read(&log->heads, raw, &line))
            count(log, &line);
        else
            parse_line(log, raw);
        at = newline + 1;
    }
    return (size_t)(at - text);
}

void classlog_feed_last(struct classlog *log, const char *text, size_t len)
{
    if (len == 0)
        return;
    log->totals.lines++;
    parse_line(log, without_return(span_of(text, len)));
}

const struct classlog_totals *classlog_totals(const struct classlog *log)
{
    return &log->totals;
}

int classlog_families(const struct classlog *log, struct class_family *picked, int max,
                      struct class_family *other)
{
    return class_rows_pick(&log->rows, &log->time, picked, max, other);
}

struct class_fold classlog_folded(const struct classlog *log)
{
    struct class_fold sum = {0};
    for (size_t i = 0; i <= FAMILY_COUNT; i++) {
        sum.loads += log->rows.fold[i].loads;
        sum.unloads += log->rows.fold[i].unloads;
        sum.names += log->rows.fold[i].names;
        sum.rows += log->rows.fold[i].rows;
    }
    return sum;
}

enum classlog_clock classlog_clock(const struct classlog *log)
{
    return log->clock != 0 ? log->clock : CLASSLOG_LINES;
}

const struct time_line *classlog_time(const struct classlog *log)
{
    return &log->time;
}

int64_t classlog_span_ms(const struct classlog *log)
{
    return log->time.ms > log->time.last_ms ? log->time.ms : log->time.last_ms;
}
