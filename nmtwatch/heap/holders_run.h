/*
 * holders_run: a heap dump's file to the answer who holds its class loaders.
 *
 *   holders_run -> the answer -> holders_answer_free
 *
 * Setup context; one thread of its own beside the caller's. fd is taken over.
 */
#ifndef NMTWATCH_HEAP_HOLDERS_RUN_H
#define NMTWATCH_HEAP_HOLDERS_RUN_H

#include "analyzers/heap/holders.h"
#include "nmtwatch/heap/dump_file.h"

struct holders_answer {
    struct heap heap;
    bool *asked;
    struct retained retained;
    struct holders holders;
    uint64_t bytes, bytes_on_disk; /* of the dump */
    int64_t took_ms;
    bool interrupted;
};

struct holders_run_options {
    bool progress; /* on stderr, after two seconds */
    bool timing;   /* what each step took, on stderr */
    const volatile bool *give_up;
};

/* False with one sentence. answer is to be freed in any case. */
bool holders_run(struct holders_answer *answer, int fd, const struct holders_run_options *options,
                 char *error, size_t error_size);
void holders_answer_free(struct holders_answer *answer);

#endif
