/*
 * holders_run: a heap dump's file to the answer who holds its class loaders.
 *
 *   holders_run | holders_take -> the answer -> holders_answer_free
 *
 * Setup context; one thread of its own beside the caller's. fd is taken over.
 */
#ifndef NMTWATCH_HEAP_HOLDERS_RUN_H
#define NMTWATCH_HEAP_HOLDERS_RUN_H

#include "analyzers/heap/holders.h"
#include "nmtwatch/heap/dump_file.h"
#include "nmtwatch/heap/heap_dump.h"
#include "reports/diagnosis/triage_report.h"

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

#endif
