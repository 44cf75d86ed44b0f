/* worker: a process that reads the JVMs of one owner for another process (jvm/privileged.h is that one's view).
 *
 *   answers one request after the other: looks at JVMs, reads their files, guards their class-load logs
 *   attaches beside that without blocking, sends the question, hands the answering socket over
 *   starts observers (observe/observe_child.h), each a process
 *
 * It may stand still for ever in a file or in memory that the owner withholds: who asked kills it after a deadline
 * and starts another. It has no state that cannot be looked at again. It ends when the other end of its socket is
 * closed, and is bounded: memory, attaching at once, guards, observers.
 *
 * Without `trusting` the worker believes nothing of a request: kinds, lengths and pids are looked at, a JVM is one by
 * its own look, a question is one of permitted_request, an observation is one that `observes` knows.
 * Descriptors that come with a request of another kind are closed. */
#pragma once

#include "nmtwatch/jvm/target.h"
#include "nmtwatch/observe/observe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct worker_rules {
    bool trusting; /* the process that asks has our rights */
    /* Whether this is an observation that may be made. Not asked when trusting. */
    bool (*observes)(const void *context, enum observe_mode mode);
    const void *context;
};

/* privileged_start_fn of a process that may do all this itself: a worker which is trusting. */
int worker_start(uid_t owner, pid_t *worker);
/* The same with rules. At most WORKERS_LEFT_OWNER workers of an owner, and WORKERS_LEFT of all, that were ended and
 * stand still: then -1 with EAGAIN. worker NULL: ends the owner's. */
#define WORKERS_LEFT_OWNER 4
#define WORKERS_LEFT       64
int worker_start_with(uid_t owner, pid_t *worker, const struct worker_rules *rules);
/* Ends all: they know what has changed. */
void workers_end(void);

/* --- in the worker ---------------------------------------------------------------------------- */

struct worker;
struct worker *worker_create(int socket_fd, const struct worker_rules *rules);
/* At most wait_ms. False when the other end has gone. */
bool worker_step(struct worker *worker, int64_t wait_ms);
void worker_destroy(struct worker *worker);

/* permitted: which requests are sent to a JVM for a process that is not trusted: those that a watch asks, byte
 * for byte, and nothing else. Pure; any thread. */

/* request: as it goes over the attach socket, protocol 1 or 2. */
bool permitted_request(const struct target *target, const char *request, size_t length);
