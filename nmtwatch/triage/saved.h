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
/* A log of any size: class loads by analyzers/classlog, what an application or a collector says of memory by
 * oom_lines. */
struct classlog;
struct saved_log {
    bool is_log;
    struct oom_lines lines;
    struct classlog *classes; /* NULL: no class-load log */
    int64_t bytes;
};

/* The text is the caller's to free (text->ptr). A log of more than LARGE_LOG_BYTES is read in blocks to its end,
 * packed by gzip or from a pipe, too: then log is what was found and the text is empty. cut: why what is there is
 * not all of it; NULL: it is. An endless input that is no text is read no further. log may be NULL: all is text. */
#define LARGE_LOG_BYTES ((size_t)64 << 20) /* as CLEAN_TEXT_MAX */
bool saved_read(const char *path, struct span *text, struct saved_log *log, const char **cut,
                char *error, size_t error_size);
/* Into the facts, and frees it. *any: something was recognised. False: out of memory. */
bool saved_log_take(struct saved_log *log, const char *path, struct facts_reader *reader,
                    bool *any);
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
