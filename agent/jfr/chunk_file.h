/*
 * chunk_file: a file that only ever grows by whole chunks.
 *
 *   chunk_file_open -> [ chunk_file_begin -> _write, _patch ... -> _publish ] ... ->
 * chunk_file_close
 *
 * The chunk being written is FILE.chunk. When it is complete it is renamed to FILE, if there
 * is none; else it is copied to its end, and a copy that fails is cut off again. A process that is
 * killed leaves FILE with complete chunks; only when it dies in the middle of that copy the last
 * one is truncated (`nmtwatch` repairs it).
 *
 * An existing FILE is renamed to FILE.1; so is FILE before it would grow beyond max_bytes, and a
 * file that another process has put in its place. Only regular files of this user are ever
 * renamed, and links are not followed. New files have mode 0600: class names may be confidential.
 * FILE.chunk is locked: a second process that records to the same FILE is refused.
 *
 * Errors: one sentence; what belongs to the chunk does nothing and returns false from then on, and
 * the chunk is lost. chunk_file_begin tries again. Drain thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk_file;

/* max_bytes 0: no bound. NULL with a sentence in error. */
struct chunk_file *chunk_file_open(const char *path, int64_t max_bytes, char *error,
                                   size_t error_size);
bool chunk_file_begin(struct chunk_file *file);
bool chunk_file_write(struct chunk_file *file, const void *bytes, size_t length);
/* The written bytes are in the file. */
bool chunk_file_flush(struct chunk_file *file);
/* Bytes of the chunk so far. */
int64_t chunk_file_position(const struct chunk_file *file);
/* Over what is written already. */
bool chunk_file_patch(struct chunk_file *file, int64_t position, const void *bytes, size_t length);
bool chunk_file_publish(struct chunk_file *file);
const char *chunk_file_error(const struct chunk_file *file);      /* NULL while all is well */
const char *chunk_file_last_error(const struct chunk_file *file); /* also of a chunk before */
/* A chunk that was not published is forgotten. */
void chunk_file_close(struct chunk_file *file);
