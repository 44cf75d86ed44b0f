/*
 * saved: files and folders that people saved, plain or gzipped, as texts.
 *
 *   saved_collect -> saved_read for each of paths -> saved_free
 *
 * Folders are walked (hidden entries left out, symbolic links not followed, SAVED_FILES_MAX files
 * at most), files come in the order of their last change, then of their names: the order in which
 * they were taken. Setup context.
 */
#ifndef NMTWATCH_TRIAGE_SAVED_H
#define NMTWATCH_TRIAGE_SAVED_H

#include "analyzers/parse/span.h"

#include <stdbool.h>
#include <stdint.h>

#define SAVED_FILES_MAX 10000
#define SAVED_TEXT_MAX  (INT64_C(1) << 30) /* of a file, uncompressed: a longer one is cut */

struct saved_file {
    char *path;
    int64_t changed_ns;
};

struct saved {
    struct saved_file *files;
    int count;
    int dropped;     /* beyond SAVED_FILES_MAX */
    int passed_over; /* paths that are not there: told on stderr */
};

/* "-" is standard input. A path that is not there is told and passed over. False with one sentence:
 * no memory. */
bool saved_collect(struct saved *saved, char *const *paths, int count, char *error,
                   size_t error_size);
/* The text is the caller's to free (text->ptr). cut: it was longer than SAVED_TEXT_MAX. */
bool saved_read(const char *path, struct span *text, bool *cut, char *error, size_t error_size);
/* The first bytes of it, at most size; 0: cannot be read, or standard input, which is read once. */
size_t saved_front(const char *path, char *front, size_t size);
void saved_free(struct saved *saved);

#endif
