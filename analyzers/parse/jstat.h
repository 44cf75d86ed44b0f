/*
 * jstat: heap and Metaspace as `jstat -gc` and `jstat -gcutil` print them, one row for each look.
 *
 *   S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     GCT
 *   0.00  99.92  35.27  54.30  95.56  90.33     12    1.140   814  612.001  613.141
 *
 * Columns are found by the names in the heading: -gc has sizes in KB (OC, OU, MU), -gcutil percent.
 * Plain data, -1 for what is not said. Any thread.
 */
#ifndef ANALYZERS_PARSE_JSTAT_H
#define ANALYZERS_PARSE_JSTAT_H

#include "analyzers/parse/span.h"

struct jstat {
    int64_t rows;
    int64_t heap_used_bytes, heap_committed_bytes; /* all generations, of -gc; of the last row */
    int64_t old_percent;                           /* of the old generation, of the last row */
    int64_t metaspace_used_bytes;
    int64_t full_gcs; /* since the start, in the last row */
    int64_t young_gcs;
};

bool jstat_is_heading(struct span line);
void jstat_read(struct jstat *jstat, struct span text);

#endif
