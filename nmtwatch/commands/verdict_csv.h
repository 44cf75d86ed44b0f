/*
 * verdict_csv: a series of numbers from a text that people and scripts write.
 *
 *     seconds,bytes[,classes_loaded_total]
 *
 * Tolerated: a header line, blank lines, lines that begin with '#', spaces, CR LF, decimal seconds
 * and bytes, an empty value and nan (missing), further columns, a last line without its end, gzip.
 * Every other line is bad: it is counted, and the first one is kept for the error message.
 *
 *   verdict_csv_read: path "-" is standard input
 *
 * One thread.
 */
#ifndef NMTWATCH_COMMANDS_VERDICT_CSV_H
#define NMTWATCH_COMMANDS_VERDICT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VERDICT_CSV_LINE_MAX 4096 /* a longer line is a bad one */

struct verdict_csv {
    int64_t lines;
    int64_t values;  /* lines with a value */
    int64_t missing; /* lines without */
    int64_t bad;
    int64_t first_bad_line;
    char first_bad[48]; /* its beginning, fit for a terminal */
    char damage[400];   /* why it was not read to its end; empty when it was */
};

/* bytes and regressor may be VERDICT_MISSING. False: stop, it cannot be kept. */
typedef bool verdict_csv_point_fn(void *context, int64_t ms, int64_t bytes, int64_t regressor);

/* False: it cannot be opened, or on_point said so; error says why. */
bool verdict_csv_read(const char *path, bool regressor_column, verdict_csv_point_fn *on_point,
                      void *context, struct verdict_csv *csv, char *error, size_t error_size);

#endif
