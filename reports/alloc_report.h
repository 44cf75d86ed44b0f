/*
 * alloc_report: what the agent's allocation profile says: a table of classes, or the same as JSON.
 *
 *   1.8 GB allocated in 2 min 05 s; 3 601 samples, one each 512 KB
 *        BYTES        +-    SHARE   SAMPLES  CLASS
 *     201.4 MB   10.2 MB   11.18%       398  byte[]
 *
 * The total is what the JVM counted, class by class it is an estimate: +- is its standard error.
 * What is in an answer is the target's word: it is parsed, never trusted to be complete. One
 * thread.
 */
#ifndef REPORTS_ALLOC_REPORT_H
#define REPORTS_ALLOC_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define ALLOC_NOTES_MAX 8

struct alloc_report {
    const char *answer; /* of the agent: {"alloc": {...}, ...}, or the member alone */
    int64_t pid;
    int jdk_major;       /* 0: not known */
    const char *main;    /* of the target */
    int64_t duration_ms; /* 0: not known */
};

/* False: the answer is none, or out failed. */
bool alloc_report_print(const struct alloc_report *report, FILE *out);
/* One line. Classes with the most bytes first. */
bool alloc_report_json(const struct alloc_report *report, FILE *out);

#endif
