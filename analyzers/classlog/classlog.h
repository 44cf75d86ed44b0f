/*
 * classlog: a class-load log of any size -> totals, families, rates over time, and whether it
 * continues. For a file afterwards; a watch uses the census (analyzers/classes/census.h).
 *
 *   classlog_create -> classlog_feed ... classlog_feed_last -> classlog_totals, classlog_families,
 *                   classlog_time, classlog_folded -> classlog_destroy
 *
 * One pass. Memory is bounded, about 10 MB for names without end: what gave up its place is counted
 * in folds and in `other`.
 *
 * Calling context: one thread a log. The text is never kept.
 */
#pragma once

#include "analyzers/classlog/class_rows.h"
#include "analyzers/parse/class_log.h"

/* Readable bytes that the caller of classlog_feed owns behind the text; their content is ignored */
#define CLASSLOG_PADDING 8

struct classlog_options {
    bool count_only; /* totals, no families and no times */
    int row_max;     /* 0: CLASS_ROWS_MAX */
};

struct classlog;

/* NULL when out of memory. */
struct classlog *classlog_create(const struct classlog_options *options);
void classlog_destroy(struct classlog *log);

/* Counts the complete lines of the text and returns how many bytes that were; the rest, part of a
 * line, is to be fed again with what follows it. */
size_t classlog_feed(struct classlog *log, const char *text, size_t len);
/* The last line, which lacks its end. No padding needed. */
void classlog_feed_last(struct classlog *log, const char *text, size_t len);

struct classlog_totals {
    int64_t lines;
    int64_t loads;
    int64_t unloads;
    int64_t unparsed; /* lines that say they are a load or an unload and are not understood */
};
const struct classlog_totals *classlog_totals(const struct classlog *log);

/* As class_rows_pick. */
int classlog_families(const struct classlog *log, struct class_family *picked, int max,
                      struct class_family *other);
/* Rows folded to make room: the sum of them. */
struct class_fold classlog_folded(const struct classlog *log);

/* What the times in a log are; decided by its first load or unload. */
enum classlog_clock { CLASSLOG_UPTIME = 1, CLASSLOG_WALL, CLASSLOG_LINES };
/* What is "ms" in this log's times: for CLASSLOG_LINES it is lines. */
enum classlog_clock classlog_clock(const struct classlog *log);
const struct time_line *classlog_time(const struct classlog *log);
/* Since the beginning. */
int64_t classlog_span_ms(const struct classlog *log);
