/*
 * class_histogram: the rows of `GC.class_histogram`, most bytes first, and its total.
 *
 *   class_histogram_begin -> class_histogram_next ... -> lines.result, total
 *
 * It lists classes that have live instances on the heap: a class without instances has no row, so
 * this is no list of classes. JDK 9+ appends the module: "[B (java.base@17.0.2)" is split into name
 * "[B" and module "java.base@17.0.2"; classes outside a named module have none.
 *
 * A text without the "Total" line is PARSE_INCOMPLETE. Allocates nothing; spans point into the
 * text. Any thread.
 */
#ifndef ANALYZERS_PARSE_CLASS_HISTOGRAM_H
#define ANALYZERS_PARSE_CLASS_HISTOGRAM_H

#include "analyzers/parse/line_cursor.h"

struct class_histogram_row {
    int64_t rank;
    int64_t instances;
    int64_t bytes;
    struct span name;
    struct span module; /* may be empty */
};

struct class_histogram_total {
    bool present;
    int64_t instances;
    int64_t bytes;
};

struct class_histogram {
    struct line_cursor lines;
    struct class_histogram_total total;
    bool started;
};

void class_histogram_begin(struct class_histogram *histogram, struct span text);
bool class_histogram_next(struct class_histogram *histogram, struct class_histogram_row *row);

#endif
