/*
 * gc_log: what a log of collections says of the heap, as a series: -Xlog:gc and -Xlog:gc* of JDK 9 and later,
 * -verbose:gc and -Xloggc of JDK 5 to 8, all collectors, any decorations.
 *
 *   [12.3s][info][gc] GC(9) Pause Full (Allocation Failure) 4090M->4089M(4096M) 2103.1ms
 *   [12.3s][info][gc] GC(9) Garbage Collection (Allocation Rate) 12M(50%)->18M(75%)
 *   12.345: [Full GC (Ergonomics) [PSYoungGen: 3K->2K(9K)] [ParOldGen: ...] 12K->11K(20K), [Metaspace: ...
 *      [Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3.0M Heap: 24.0M(256.0M)->21.4M(256.0M)]
 *
 *   gc_log_begin -> gc_log_line for each line of gc_log_is_line or with "->" in it -> gc_log_merge
 *
 * A series keeps the lowest occupancy of each stretch of collections, at most GC_POINTS of them: when they are
 * full, two become one. Plain data, bounded; nothing is borrowed. Any thread.
 */
#pragma once

#include "floor/base/span.h"

#define GC_POINTS 128

struct gc_series {
    int count;
    int64_t each; /* collections of a point */
    int64_t in_last;
    struct {
        int64_t ms, bytes;
    } point[GC_POINTS];
};

/* A series is begun with each 1. */
void gc_series_add(struct gc_series *series, int64_t ms, int64_t bytes);

struct gc_log {
    int64_t collections; /* with the heap before and after */
    int64_t full;
    int64_t useless_run;   /* full ones, by need, that left 90 % of the heap and more: up to now */
    int64_t useless;       /* the longest such run, at the heap's largest size */
    int64_t useless_bytes; /* what the last of that run left; -1 */
    int64_t heap_bytes;    /* the largest heap that was printed; -1 */
    int64_t after_bytes;   /* after the last collection; -1 */
    int64_t allocated_bytes;            /* between the collections */
    int64_t first_ms, last_ms;          /* -1: without times */
    int64_t pause_us, longest_pause_us; /* -1: none was printed */
    int64_t stalls;                     /* threads that waited for memory */
    int64_t degenerated;   /* concurrent collections that had to stop the application */
    int64_t exhausted;     /* no room to copy objects to */
    int64_t metadata;      /* collections for Metaspace's threshold */
    int64_t humongous;     /* collections for a humongous object */
    struct gc_series live; /* after collections that include the old generation */
};

/* The line is of such a log, with figures or without. */
bool gc_log_is_line(struct span line);
void gc_log_begin(struct gc_log *log);
void gc_log_line(struct gc_log *log, struct span line);
/* Of two parts of one log, in whichever order. */
void gc_log_merge(struct gc_log *log, const struct gc_log *other);
