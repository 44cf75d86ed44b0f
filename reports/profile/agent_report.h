/* agent_report: the agent's answers, JSON objects, as people read them; what its allocation profile
 * says as a table of classes, or the same as JSON.
 *
 *   1.8 GB allocated in 2 min 05 s; 3 601 samples, one each 512 KB
 *        BYTES        +-    SHARE   SAMPLES  CLASS
 *     201.4 MB   10.2 MB   11.18%       398  byte[]
 *
 * The total of allocations is what the JVM counted, class by class it is an estimate: +- is its
 * standard error. The content of an answer comes from the target: it is parsed, never trusted to be
 * complete, and its texts are escaped. A member that is missing is left out or shown as "?". False
 * when the text is no such object, or out failed. One thread. */
#pragma once

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

/* After `start`: what runs now. */
bool agent_print_started(const char *json, FILE *out);
/* After `stop`: where the recording is, what was counted, what cannot be given back. */
bool agent_print_stopped(const char *json, FILE *out);
/* The same when the recording was made into a file of ours. */
bool agent_print_written(const char *json, const char *output, FILE *out);
bool agent_print_dumped(const char *json, FILE *out);
bool agent_print_status(const char *json, FILE *out);
/* The account, a row per component. */
bool agent_print_memory(const char *json, FILE *out);
/* The same object on one line, safe for a terminal. */
bool agent_print_json(const char *json, FILE *out);
/* One line about what could not be written, if there is such: true then. json: the answer to `stop`
 * or `status`. */
bool agent_print_lost(const char *json, FILE *out);
