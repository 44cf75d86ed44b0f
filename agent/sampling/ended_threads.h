/*
 * ended_threads: names of threads that have ended and are in a chunk not yet written.
 *
 * The last ENDED_MAX of them; who ended before has no name in the recording, only its id. Under the
 * lock of struct threads.
 */
#ifndef AGENT_SAMPLING_ENDED_THREADS_H
#define AGENT_SAMPLING_ENDED_THREADS_H

#include <stdint.h>

#define ENDED_MAX 512

struct ended_thread {
    int tid; /* 0: none */
    int64_t java_id;
    char *name;
};

struct ended_threads {
    uint32_t count;
    struct ended_thread row[ENDED_MAX];
};

/* Takes the name, which may be NULL. */
void ended_threads_add(struct ended_threads *ended, int tid, char *name, int64_t java_id);
/* The latest with this id; NULL when there is none or it has no name. */
const struct ended_thread *ended_threads_find(const struct ended_threads *ended, int tid);
void ended_threads_clear(struct ended_threads *ended);

#endif
