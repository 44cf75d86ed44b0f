/* holders_run: a heap dump's file to the answer what holds its class loaders.
 *
 *   holders_run | holders_take -> the answer -> holders_answer_free
 *
 * Setup context; one thread of its own beside the caller's. fd is taken over. */
#pragma once

#include "analyzers/heap/holders.h"
#include "reports/diagnosis/triage_report.h"
#include "analyzers/heap/heap.h"
#include "nmtwatch/profile/agent_call.h"

/* heap_dump: a heap dump of a running JVM, in a private folder that only it can read.
 *
 *   heap_dump_predict -> (the caller asks, says) -> heap_dump_take -> the descriptor in fd
 *   -> heap_dump_end
 *
 * GC.heap_dump stops the application: a full GC, then all live objects are written. Its time and
 * disk are predicted from the used heap; a folder without the room, or one that is memory (tmpfs)
 * of a limited container, is refused before the first question.
 *
 * Nothing can stop a JVM that writes a dump, and from JDK 22 on it writes segments beside the dump
 * first: a signal is answered when the JVM is done, so that nothing of it is left.
 *
 * The folder is an exchange (profile/agent_call.h). Setup context; blocks while the JVM writes. */
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

/* dump_file: a heap dump on disk, plain or gzipped, read into a heap by two threads.
 *
 *   dump_open -> dump_load -> dump_fetch ... -> dump_close
 *
 * A plain file is read with pread, not mapped: whoever cuts it in the meantime cannot kill us, and its
 * pages are no memory of ours. A gzipped one is inflated again for each pass, by one thread.
 * Errors are one sentence in error. Setup context; starts and ends threads of its own. */
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

struct holders_answer {
    struct heap heap;
    bool *asked;
    struct retained retained;
    struct holders holders;
    uint64_t bytes, bytes_on_disk; /* of the dump */
    int64_t took_ms;
};

struct holders_run_options {
    bool progress; /* on stderr, after two seconds */
    bool timing;   /* what each step took, on stderr */
};

/* False with one sentence. answer is to be freed in any case. */
bool holders_run(struct holders_answer *answer, int fd, const struct holders_run_options *options,
                 char *error, size_t error_size);

/* Of a JVM: predicts, says so on standard error, takes the dump, answers, removes it (kept: says
 * where). */
enum holders_taken {
    HOLDERS_TAKEN,
    HOLDERS_NOT_ALLOWED, /* sentence: what it would cost */
    HOLDERS_NO_ROOM,
    HOLDERS_REFUSED, /* failure says why the JVM could not be asked */
    HOLDERS_UNREAD,
};
struct holders_take_options {
    const char *verb; /* for messages */
    bool allow_pause, keep, gzip;
    struct holders_run_options run;
};
/* sentence: of all but HOLDERS_TAKEN. answer is to be freed in any case. */
enum holders_taken holders_take(struct holders_answer *answer, const struct target *target,
                                const struct holders_take_options *options, struct failure *failure,
                                char *sentence, size_t size);
/* The answer as it is reported; name is kept. */
struct holders_report holders_answer_report(const struct holders_answer *answer, const char *name);
void holders_answer_free(struct holders_answer *answer);
