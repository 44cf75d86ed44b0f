/*
 * pmap: the mappings of a process as pmap prints them, with or without -x, -X left aside.
 *
 *   Address           Kbytes     RSS   Dirty Mode  Mapping
 *   00007f32b8000000   65508   61220   61220 rw---   [ anon ]
 *   00007f32b8000000   65508K rw---   [ anon ]
 *   total kB         8378000 6200000 6180000
 *
 * Counts what malloc's arenas look like: mappings that begin at a multiple of 64 MiB and are not
 * longer. Plain data. Any thread.
 */
#ifndef ANALYZERS_PARSE_PMAP_H
#define ANALYZERS_PARSE_PMAP_H

#include "analyzers/parse/span.h"

struct pmap {
    int64_t pid; /* of "1234:   java ..."; -1 */
    int64_t mappings;
    int64_t size_bytes, rss_bytes; /* of the mappings that were printed; RSS 0 without -x */
    bool has_rss;
    int64_t total_size_bytes, total_rss_bytes; /* of the line "total"; -1 */
    int64_t arenas;                            /* of malloc */
    int64_t arena_bytes;                       /* resident when that was printed, or their size */
    int64_t anonymous_bytes;                   /* the same of all that have no file */
};

bool pmap_is_row(struct span line);
bool pmap_is_head(struct span line);
void pmap_read(struct pmap *map, struct span text);

#endif
