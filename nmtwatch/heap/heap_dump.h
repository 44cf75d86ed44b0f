/*
 * heap_dump: a heap dump of a running JVM, in a private folder that only it can read.
 *
 *   heap_dump_predict -> (the caller asks, says) -> heap_dump_take -> the descriptor in fd
 *   -> heap_dump_end
 *
 * GC.heap_dump stops the application: a full GC, then all live objects are written. Its time and
 * disk are predicted from the used heap; a folder without the room, or one that is memory (tmpfs)
 * of a limited container, is refused before anything is asked.
 *
 * Nothing can stop a JVM that writes a dump, and from JDK 22 on it writes segments beside the dump
 * first: a signal is answered when the JVM is done, so that nothing of it is left.
 *
 * The folder is an exchange (profile/agent_call.h). Setup context; blocks while the JVM writes.
 */
#ifndef NMTWATCH_HEAP_HEAP_DUMP_H
#define NMTWATCH_HEAP_HEAP_DUMP_H

#include "nmtwatch/profile/agent_call.h"

#define HEAP_DUMP_FILE "heap.hprof"

struct heap_dump {
    struct exchange exchange;
    bool open;
    int64_t used_bytes;      /* of the heap now */
    int64_t predicted_bytes; /* of the dump */
    int64_t predicted_room;  /* of the dump while it is written: JDK 22 and later merge segments */
    int64_t predicted_ms;    /* of pause */
    int threads;             /* of the JVM, that write it */
    int64_t free_bytes;      /* of the folder */
    bool in_memory;          /* the folder is a tmpfs */
    int64_t pause_us;        /* measured: an upper bound */
    int64_t bytes;
    char *loader_stats; /* VM.classloader_stats right after the dump; NULL: not known */
    size_t loader_stats_length;
    int fd; /* of the dump; the caller's after heap_dump_take */
};

/* FAILURE_NONE, or why the JVM could not be asked. Opens the folder. */
enum failure_kind heap_dump_predict(struct heap_dump *dump, const struct target *target,
                                    struct failure *failure);
/* False with one sentence: there is no room for it. */
bool heap_dump_fits(const struct heap_dump *dump, const struct target *target, char *sentence,
                    size_t size);
/* gzip: the JVM packs it (JDK 17 and later). By several threads from JDK 22 on. */
enum failure_kind heap_dump_take(struct heap_dump *dump, const struct target *target, bool gzip,
                                 struct failure *failure);
/* Removes the dump, unless it is to be kept, and the folder. */
void heap_dump_end(struct heap_dump *dump, bool keep);

#endif
