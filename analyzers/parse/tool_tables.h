/*
 * tool_tables: what top, ps, docker, kubectl, pmap and jstat print of a process.
 *
 * process_row: resident memory of a JVM as top, ps, docker stats, kubectl top and /proc/PID/status
 * print it.
 *
 *     PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND
 *    4711 app       20   0 8378012   6.0g   4492 S  43.0  8.4 162:29.95 java
 *   USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
 *   CONTAINER ID   NAME   CPU %   MEM USAGE / LIMIT     MEM %   NET I/O   BLOCK I/O   PIDS
 *   NAME                   CPU(cores)   MEMORY(bytes)
 *
 * Columns are found by the names in the heading; a row of top is known without it. Of several rows
 * with Java the largest counts. Plain data, -1 for what is not said. Any thread.
 */
#pragma once

#include "floor/base/span.h"
#include "analyzers/parse/jcmd_reply.h"

enum process_source {
    PROCESS_NONE,
    PROCESS_TOP,
    PROCESS_PS,
    PROCESS_DOCKER,
    PROCESS_KUBECTL,
    PROCESS_STATUS
};

struct process_row {
    enum process_source source;
    int64_t pid;
    int64_t rss_bytes; /* of docker and kubectl: what the container is charged for */
    int64_t virtual_bytes;
    int64_t swap_bytes;
    int64_t limit_bytes; /* docker stats */
    int64_t threads;
    int64_t host_bytes, host_free_bytes; /* "KiB Mem :  2046500 total,    96704 free" of top */
    int64_t rows;                        /* with Java in it, or a container's */
    char name[64];
};

const char *process_source_name(enum process_source source); /* "top", "/proc/PID/status" */
bool process_row_is_heading(struct span line);
/* Only the headings of tables. */
bool process_row_is_table(struct span line);
bool process_row_is_top(struct span line); /* a row of top for java, heading or not */
void process_row_read(struct process_row *row, struct span text);

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
struct pmap {
    int64_t pid;   /* of "1234:   java ..."; -1 */
    bool is_other; /* by that line it is no JVM */
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

/*
 * jstat: heap and Metaspace as `jstat -gc` and `jstat -gcutil` print them, one row for each poll.
 *
 *   S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     GCT
 *   0.00  99.92  35.27  54.30  95.56  90.33     12    1.140   814  612.001  613.141
 *
 * Columns are found by the names in the heading: -gc has sizes in KB (OC, OU, MU), -gcutil percent.
 * Plain data, -1 for what is not said. Any thread.
 */
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

/*
 * mat_table: rows of a table of Eclipse MAT that was pasted as text: its histogram, its list of class
 * loaders, and the sentences of its leak report.
 *
 *   Class Name             |   Objects | Shallow Heap |   Retained Heap
 *   char[]                 |   123,456 |   12,345,678 | >= 12,345,678
 *   "Class Name","Objects","Shallow Heap"                         (exported as CSV)
 *   [a.B$C](mat://object/0x1) [First 10 of 12 objects](...) 12 345     (copied from its HTML)
 *   12 instances of "a.B", loaded by "c.L @ 0x1" occupy 401,627,128 (41.22%) bytes.
 *
 *   mat_table_begin -> mat_table_next ... -> lines.unknown_lines
 *
 * Allocates nothing; spans point into the text. Any thread.
 */
struct mat_row {
    struct span name;  /* of the class, without an address */
    bool is_loader;    /* a class loader: instances is the number of classes it defined */
    int64_t instances; /* -1: not said */
    int64_t bytes;     /* shallow, of a leak report retained; -1: not said */
};

struct mat_table {
    struct line_cursor lines;
    bool of_loaders; /* by the heading */
    bool is_csv;
    struct span name; /* of a row whose figures stand in the next line */
};

/* Begins such a table, or is such a sentence. */
bool mat_table_is_heading(struct span line);
void mat_table_begin(struct mat_table *table, struct span text);
bool mat_table_next(struct mat_table *table, struct mat_row *row);
