/*
 * unpack: a file packed by xz, zstd or bzip2, recognised by its first bytes. gzip is zlib's.
 *
 * The libraries are opened when such a file comes (liblzma5, libzstd1, libbz2-1.0), so that nmtwatch
 * needs none of them otherwise. What is unpacked is bounded. Setup context, one thread.
 */
#ifndef NMTWATCH_TRIAGE_UNPACK_H
#define NMTWATCH_TRIAGE_UNPACK_H

#include "analyzers/parse/span.h"

/* Replaces *text, which was allocated, by what it holds; a text that is not packed stays. False
 * with a sentence: no library, damaged, or larger than max_bytes; *text is as it was. */
bool unpack(struct span *text, size_t max_bytes, char *error, size_t error_size);

#endif
