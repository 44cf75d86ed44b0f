/*
 * smaps: /proc/PID/smaps, one mapping after the other.
 *
 *   7f1cdc000000-7f1cdc021000 rw-p 00000000 00:00 0
 *   Size:                132 kB
 *   Rss:                  84 kB
 *   ...
 *
 *   smaps_begin -> smaps_next ... -> lines.result
 *
 * Fields we do not need and fields of newer kernels are skipped; a value that was not printed is
 * zero (they are all amounts of memory). Allocates nothing, spans point into the text. Any thread.
 */
#ifndef ANALYZERS_PARSE_SMAPS_H
#define ANALYZERS_PARSE_SMAPS_H

#include "analyzers/parse/line_cursor.h"
#include "analyzers/parse/proc_text.h"

struct smaps_mapping {
    struct proc_map map;
    int64_t rss_bytes;
    int64_t pss_bytes;
    int64_t private_bytes;
    int64_t anonymous_bytes;
    int64_t swap_bytes;
    int64_t huge_bytes; /* AnonHugePages */
};

struct smaps {
    struct line_cursor lines;
};

void smaps_begin(struct smaps *smaps, struct span text);
/* False at the end; see lines.result. A text whose first line is no mapping is PARSE_MALFORMED. */
bool smaps_next(struct smaps *smaps, struct smaps_mapping *mapping);

#endif
