/*
 * thread_registry: an entry for every thread, found by a signal handler without a lock.
 *
 * A hash of chains by thread id. Writers hold the lock of struct threads; a handler walks a chain
 * at any time. An entry taken out of a chain keeps its link; its memory is reused only when all
 * handlers that could have found it have left: so a handler never strays into another chain.
 *
 *   chains   [tid % 1024] -> entry -> entry -> NULL        slabs of 64 entries, component THREADS
 *
 * registry_find: signal context (threads_signal.c). The others: under the lock.
 */
#pragma once

#include "agent/mem/handlers.h"
#include "agent/sampling/timers.h"

#include <stdatomic.h>
#include <stdint.h>

#define THREAD_CHAINS    1024
#define THREAD_SLAB      64
#define THREAD_SLABS_MAX 512 /* 32 768 threads: as many as the kernel numbers by default */

struct thread_entry {
    _Atomic int tid; /* 0: not in use */
    _Atomic(struct thread_entry *) next;
    _Atomic(void *) env; /* the JNIEnv a handler found, for finding the Java name */
    struct timer timer;
    _Atomic uint32_t wall_rounds; /* since a wall-clock signal that has not arrived yet; 0: none */
    _Atomic bool sampled;         /* it has an event in the recording: its name is wanted */
    bool blocked;                 /* our signal was blocked: no timer yet */
    bool ended;                   /* it said so; the kernel may still have it */
    bool left_jvm;                /* ended at least once: env may be another thread's since then */
    uint32_t seen;
    char comm[16]; /* the kernel's name */
    char *name;    /* the Java name, NULL: not known */
    int64_t java_id;
    struct thread_entry *list; /* free or retired */
};

struct thread_registry {
    _Atomic(struct thread_entry *) chain[THREAD_CHAINS];
    struct thread_entry *slab[THREAD_SLABS_MAX];
    int slabs;
    int64_t threads;
    struct thread_entry *free;
    struct thread_entry *retired;
};

static inline int entry_tid(const struct thread_entry *entry)
{
    return atomic_load_explicit(&entry->tid, memory_order_relaxed);
}

/* NULL when there is none. */
struct thread_entry *registry_find(struct thread_registry *registry, int tid);
/* NULL when out of memory or room. May wait for handlers, to use entries again. */
struct thread_entry *registry_add(struct thread_registry *registry, int tid,
                                  struct handlers *handlers);
/* Its timer must be gone. The name stays the caller's to take first. */
void registry_remove(struct thread_registry *registry, struct thread_entry *entry);
/* All entries, to go through: NULL at an index beyond the last; look at tid. */
struct thread_entry *registry_at(struct thread_registry *registry, int index);
/* Gives the memory back. No handler may come any more. */
void registry_clear(struct thread_registry *registry);

/*
 * ended_threads: names of threads that have ended and are in a chunk not yet written.
 *
 * Found by thread id through 4 096 chains; a row is kept until the second turn after it came,
 * because the events of a chunk may be written with the next one. At most ENDED_MAX rows (32 bytes
 * and a name each), beyond which the thread has no name in the recording, only its id; those are
 * counted. Under the lock of struct threads.
 */
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
    int32_t count;
    size_t capacity;
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
