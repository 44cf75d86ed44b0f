/* saved: files and folders that people saved, plain or gzipped, as texts.
 *
 *   saved_collect -> saved_read for each of paths -> saved_free
 *
 * Folders are walked (hidden entries left out, symbolic links not followed, SAVED_FILES_MAX files
 * at most), files come in the order of their last change, then of their names: the order in which
 * they were taken. Setup context. */
#pragma once

#include "floor/base/span.h"
#include "analyzers/triage/facts_read.h"

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
    size_t capacity;
    int count;
    int dropped;     /* beyond SAVED_FILES_MAX */
    int passed_over; /* paths that are not there: reported on stderr */
};

/* "-" is standard input. A path that is not there is reported and passed over. False with one sentence:
 * no memory. */
bool saved_collect(struct saved *saved, char *const *paths, int count, char *error,
                   size_t error_size);
/* The text is the caller's to free (text->ptr). cut: why what is there is not all of it; NULL: it is. An endless
 * input is read no further when its front is no text, or none that is known. */
bool saved_read(const char *path, struct span *text, const char **cut, char *error,
                size_t error_size);
/* The first bytes of it, at most size; 0: cannot be read, or standard input, which is read once. */
size_t saved_front(const char *path, char *front, size_t size);
void saved_free(struct saved *saved);

/* unpack: a file packed by xz, zstd or bzip2, recognised by its first bytes. gzip is zlib's.
 *
 * The libraries are opened when such a file comes (liblzma5, libzstd1, libbz2-1.0), so that nmtwatch
 * needs none of them otherwise. Unpacked sizes are bounded. Setup context, one thread.
 */

/* Replaces *text, which was allocated, by what it holds; a text that is not packed stays. False
 * with a sentence: no library, damaged, or larger than max_bytes; *text is as it was. */
bool unpack(struct span *text, size_t max_bytes, char *error, size_t error_size);

/* large_log: a log of any size into a facts, in constant memory.
 *
 * Texts are read as a whole, because what stands around them is only known by all of their lines. A
 * log of more than LARGE_LOG_BYTES is read in blocks instead: class loads by analyzers/classlog, what
 * an application or a collector says of memory by oom_lines. Setup context. */

#define LARGE_LOG_BYTES (INT64_C(64) << 20) /* as CLEAN_TEXT_MAX */

/* A regular file of that size, not packed, whose front is a log or nothing that is known. */
bool large_log_is(const char *path);
/* *any: something was recognised. False with a sentence; what was read until then counts. */
bool large_log_read(const char *path, struct facts_reader *reader, bool *any, char *error,
                    size_t error_size);
