/*
 * classloader_stats: the rows of `VM.classloader_stats`, one per class loader (JDK 8 and later).
 *
 *   classloader_stats_begin -> classloader_stats_next ... -> lines.result, total
 *
 * The cheapest detector of a generator: group by `type` and count. Beside its own classes a loader
 * may have hidden ones ("+ hidden classes", 8 to 14: "+ unsafe anonymous classes"): they follow as
 * a row of kind LOADER_HIDDEN, which carries the type and addresses of the loader above and counts
 * as no loader. The boot loader's type is "<boot class loader>".
 *
 * Allocates nothing; spans point into the text. A text without the "Total =" line is
 * PARSE_INCOMPLETE: the counts so far are too low. Any thread.
 */
#ifndef ANALYZERS_PARSE_CLASSLOADER_STATS_H
#define ANALYZERS_PARSE_CLASSLOADER_STATS_H

#include "analyzers/parse/line_cursor.h"

enum loader_kind {
    LOADER_OWN,    /* classes defined by name: the row of the loader itself */
    LOADER_HIDDEN, /* hidden or anonymous classes of the loader above */
};

struct loader_stats_row {
    enum loader_kind kind;
    struct span type;        /* class of the loader; may be empty */
    uint64_t loader_address; /* 0: boot loader */
    uint64_t parent_address;
    uint64_t data_address; /* CLD*: 0 for a loader that has loaded nothing yet (JDK 8) */
    int64_t classes;
    int64_t chunk_bytes;
    int64_t block_bytes;
};

struct loader_stats_total {
    bool present;
    int64_t loaders;
    int64_t classes; /* hidden ones included */
    int64_t chunk_bytes;
    int64_t block_bytes;
};

struct classloader_stats {
    struct line_cursor lines;
    struct loader_stats_total total;
    struct loader_stats_row above; /* the loader a tail row belongs to */
    bool started;
};

void classloader_stats_begin(struct classloader_stats *stats, struct span text);
/* False at the end of the table; then see lines.result and total. */
bool classloader_stats_next(struct classloader_stats *stats, struct loader_stats_row *row);

#endif
