/*
 * ended_threads: names of threads that have ended and are in a chunk not yet written.
 *
 * Found by thread id through 4 096 chains; a row is kept until the second turn after it came,
 * because the events of a chunk may be written with the next one. At most ENDED_MAX rows (32 bytes
 * and a name each), beyond which the thread has no name in the recording, only its id; those are
 * counted. Under the lock of struct threads.
 */
#ifndef AGENT_SAMPLING_ENDED_THREADS_H
#define AGENT_SAMPLING_ENDED_THREADS_H

#include <stdint.h>

#define ENDED_MAX    32768
#define ENDED_CHAINS 4096

struct ended_thread {
    int tid;
    int32_t next; /* of its chain, older: index + 1; 0: none */
    int64_t java_id;
    char *name;
};

struct ended_threads {
    struct ended_thread *row; /* oldest first */
    int32_t count, capacity;
    int32_t last_turn; /* rows before it go at the next one */
    int64_t refused;
    int32_t chain[ENDED_CHAINS]; /* the latest: index + 1 */
};

/* Takes the name. */
void ended_threads_add(struct ended_threads *ended, int tid, char *name, int64_t java_id);
/* The latest with this id; NULL when there is none. */
const struct ended_thread *ended_threads_find(const struct ended_threads *ended, int tid);
/* A chunk has been written. */
void ended_threads_turn(struct ended_threads *ended);
void ended_threads_clear(struct ended_threads *ended);

#endif
