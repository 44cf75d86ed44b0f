/*
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
#ifndef ANALYZERS_PARSE_PROCESS_ROW_H
#define ANALYZERS_PARSE_PROCESS_ROW_H

#include "analyzers/parse/span.h"

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

#endif
