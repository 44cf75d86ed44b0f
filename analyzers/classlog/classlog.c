#include "analyzers/classlog/scan_lines.h"

#include <stdlib.h>

/* --- life ------------------------------------------------------------------------------------- */

bool classlog_scan_exists(enum classlog_scan scan)
{
    switch (scan) {
#if defined(__x86_64__)
    case CLASSLOG_SCAN_SSE2:
#endif
    case CLASSLOG_SCAN_BEST:
    case CLASSLOG_SCAN_PLAIN:
        return true;
#if defined(__x86_64__)
    case CLASSLOG_SCAN_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2");
#else
    case CLASSLOG_SCAN_SSE2:
    case CLASSLOG_SCAN_AVX2:
        break;
#endif
    }
    return false;
}

static void choose_scan(struct classlog *log, enum classlog_scan scan)
{
    log->scan = scan_lines_plain;
#if defined(__x86_64__)
    if (scan == CLASSLOG_SCAN_BEST)
        scan = classlog_scan_exists(CLASSLOG_SCAN_AVX2) ? CLASSLOG_SCAN_AVX2 : CLASSLOG_SCAN_SSE2;
    if (scan == CLASSLOG_SCAN_AVX2)
        log->scan = scan_lines_avx2;
    else if (scan == CLASSLOG_SCAN_SSE2)
        log->scan = scan_lines_sse2;
#else
    (void)scan;
#endif
}

struct classlog *classlog_create(const struct classlog_options *options)
{
    struct classlog *log = calloc(1, sizeof *log);
    if (log == NULL)
        return NULL;
    log->count_only = options->count_only;
    choose_scan(log, options->scan);
    if (log->count_only)
        return log;
    log->cache = body_cache_create();
    if (log->cache != NULL && class_rows_init(&log->rows, options->row_max))
        return log;
    classlog_destroy(log);
    return NULL;
}

void classlog_destroy(struct classlog *log)
{
    if (log == NULL)
        return;
    class_rows_free(&log->rows);
    body_cache_destroy(log->cache);
    free(log);
}

/* --- a line that was not seen before -----------------------------------------------------------
 */

static void take_time(struct classlog *log, const struct class_log_line *line)
{
    if (log->clock == LOG_CLOCK_UNKNOWN)
        log->clock = line->uptime_ms >= 0 ? LOG_CLOCK_UPTIME
                     : line->wall_ms >= 0 ? LOG_CLOCK_WALL
                                          : LOG_CLOCK_LINES;
    int64_t ms = log->time.log_ms;
    if (log->clock == LOG_CLOCK_LINES)
        ms = log->totals.lines;
    else if (log->clock == LOG_CLOCK_UPTIME && line->uptime_ms >= 0)
        ms = line->uptime_ms;
    else if (log->clock == LOG_CLOCK_WALL && line->uptime_ms < 0 && line->wall_ms >= 0)
        ms = line->wall_ms;
    time_line_set(&log->time, ms);
}

/* Once a row's shape is known, its lines need not come here again. */
static bool worth_learning(const struct class_row *row, bool folded)
{
    return row->loads + row->unloads >= (folded ? CLASS_ROW_SHAPED : 2);
}

static void count_row(struct classlog *log, const struct class_log_line *line, struct span body,
                      uint64_t hash)
{
    struct log_place at = {log->totals.lines, log->time.ms};
    union body_target target;
    bool swept, load = line->kind == CLASS_LOG_LOAD;
    const struct class_row *row;
    const struct class_stem *stem;
    log->rows.loads = log->totals.loads;
    if (load) {
        row = target.row =
            class_rows_load(&log->rows, line->name, line->source, at, &log->time, &swept);
        stem = row != NULL ? row->stem : NULL;
    } else {
        stem = target.stem = class_rows_unload(&log->rows, line->name, at, &log->time, &swept);
        row = stem != NULL ? stem->rows : NULL;
    }
    if (swept)
        body_cache_forget(log->cache);
    if (row != NULL && body.len > 0 && worth_learning(row, stem->folded))
        body_cache_learn(log->cache, body, line->name.len, line_form_of(line), hash, target,
                         stem->folded);
}

void classlog_line(struct classlog *log, struct span text, const struct line_head *head,
                   uint64_t hash)
{
    struct class_log_line line = class_log_parse(text);
    log->totals.unparsed += line.claims;
    if (line.kind == CLASS_LOG_OTHER)
        return;
    bool load = line.kind == CLASS_LOG_LOAD;
    *(load ? &log->totals.loads : &log->totals.unloads) += 1;
    size_t head_len = (size_t)(line.name.ptr - text.ptr);
    bool known = head != NULL && head->len == head_len && head->form == line_form_of(&line);
    if (!known)
        line_heads_learn(&log->heads, text, &line);
    if (log->count_only)
        return;
    take_time(log, &line);
    *(load ? &log->time.now->loads : &log->time.now->unloads) += 1;
    size_t body_len = known && hash != 0 ? text.len - head_len : 0;
    count_row(log, &line, span_of(line.name.ptr, body_len), hash);
}

/* --- feeding and asking ------------------------------------------------------------------------
 */

size_t classlog_feed(struct classlog *log, const char *text, size_t len)
{
    /* Offsets of lines are 32 bits wide. */
    return log->scan(log, text, len < UINT32_MAX ? len : UINT32_MAX);
}

void classlog_feed_last(struct classlog *log, const char *text, size_t len)
{
    if (len == 0)
        return;
    log->totals.lines++;
    if (text[len - 1] == '\r')
        len--;
    classlog_line(log, span_of(text, len), NULL, 0);
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
    return log->clock == LOG_CLOCK_UPTIME ? CLASSLOG_UPTIME
           : log->clock == LOG_CLOCK_WALL ? CLASSLOG_WALL
                                          : CLASSLOG_LINES;
}

const struct time_line *classlog_time(const struct classlog *log)
{
    return &log->time;
}

int64_t classlog_span_ms(const struct classlog *log)
{
    return log->time.ms > log->time.last_ms ? log->time.ms : log->time.last_ms;
}
