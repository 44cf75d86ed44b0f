/*
 * dump_file: a heap dump on disk, plain or gzipped, read into a heap by two threads.
 *
 *   dump_open -> dump_load -> dump_fetch ... -> dump_close
 *
 * A plain file is read with pread, not mapped: whoever cuts it meanwhile cannot kill us, and its
 * pages are no memory of ours. A gzipped one is inflated again for each pass, by one thread.
 * Errors are one sentence in error. Setup context; starts and ends threads of its own.
 */
#ifndef NMTWATCH_HEAP_DUMP_FILE_H
#define NMTWATCH_HEAP_DUMP_FILE_H

#include "analyzers/heap/heap.h"

struct dump_file {
    int fd;
    bool gzipped;
    bool cut;       /* the gzip stream ends early */
    uint64_t bytes; /* of the dump; of a gzipped one when it was read once */
    uint64_t bytes_on_disk;
    int threads;
    const volatile int *give_up;
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t whole);
    void *context;
    char error[512];
};

/* Whether a file begins as a heap dump does, plain or gzipped. */
bool dump_is(const char *path);
/* fd is taken over. */
bool dump_open(struct dump_file *file, int fd);
/* heap is made in any case; to be destroyed by the caller. */
bool dump_load(struct dump_file *file, struct heap *heap);
/* The objects of the parts of the dump that hold identifiers for which among() is true; by
 * file->threads threads, each object once. */
struct dump_fetch {
    bool (*among)(void *context, uint64_t least_id, uint64_t most_id);
    void (*object)(void *context, const struct heap_object *object);
    void *context;
};
bool dump_fetch(struct dump_file *file, struct heap *heap, const struct dump_fetch *fetch);
void dump_close(struct dump_file *file);

#endif
