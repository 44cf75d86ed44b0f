/* archive: a folder of recordings, a few files for each target, within bounds.
 *
 *   archive_open -> archive_file_create -> archive_file_event ... -> archive_file_close
 *                -> archive_tidy (now and then) -> archive_close
 *
 * LABEL-20261121T051500Z-PID.nmt.gz. A file that has grown too large or too old is followed by a
 * new one, a recording of its own whose times continue. Tidying removes the
 * oldest files until the folder keeps to its bounds; those being written are never removed, and
 * nothing that does not look like ours is touched. The folder is 0700, files 0600.
 *
 * Event loop, one thread. */
#pragma once

#include "nmtwatch/record/recording.h"

#define ARCHIVE_NAME_MAX 128

struct archive_bounds {
    int64_t rotate_bytes, rotate_ms, keep_bytes, keep_ms;
    int64_t keep_files; /* 0: as many as there are */
};

struct archive;
struct archive_file;

/* The same folder for results that are written at once: LABEL-20261121T051500Z-PID-NAME.html, .json.
 *
 *   archive_open_results -> archive_put ... -> archive_tidy -> archive_close */

/* NULL with one sentence in error. */
struct archive *archive_open(const char *folder, const struct archive_bounds *bounds, char *error,
                             size_t error_size);
struct archive *archive_open_results(const char *folder, const struct archive_bounds *bounds,
                                     char *error, size_t error_size);
/* A new file; out: its name. ending: "leaks.html". False with one sentence in error, and no file. */
bool archive_put(struct archive *archive, const char *label, int64_t pid, const char *ending,
                 int64_t wall_ms, const char *bytes, size_t length, char out[ARCHIVE_NAME_MAX],
                 char *error, size_t error_size);
void archive_set_bounds(struct archive *archive, const struct archive_bounds *bounds);

/* NULL with one sentence in error. wall_ms: now, since the epoch. */
struct archive_file *archive_file_create(struct archive *archive, const char *label,
                                         const struct recording_header *header, int64_t wall_ms,
                                         char *error, size_t error_size);
void archive_file_event(struct archive_file *file, const struct event *event);
void archive_file_alert(struct archive_file *file, const struct alert *alert);
/* Turns to a new file when the present one is full. */
void archive_file_turn(struct archive_file *file, int64_t wall_ms);
/* The name within the folder; "" when writing has failed. */
const char *archive_file_name(const struct archive_file *file);
void archive_file_close(struct archive_file *file);

struct archive_counts {
    int64_t bytes; /* of all files at the last tidying */
    int64_t files, removed, errors;
    char last_error[256];
};
void archive_tidy(struct archive *archive, int64_t wall_ms);
struct archive_counts archive_counts(const struct archive *archive);
void archive_close(struct archive *archive);

/* "a/b c" -> "a_b_c": what a file may be called. Exposed for its test. */
void archive_safe_name(const char *label, char *out, size_t size);
