/*
 * calltrace_stress SECONDS: four threads put stacks while the drain rotates as fast as it can, or
 * doubles the tables.
 *
 * Checked at each rotation: every stack of the chunk is whole and there once, every id that a
 * thread was given in the chunk is that stack's, and no stack is there that nobody put. At the end:
 * offered == stored + dropped, by the threads' own count.
 */
#include "agent/calltrace/calltrace.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS   4
#define STACKS    20000
#define DEPTH_MAX 24

static struct calltrace_storage *storage;
static _Atomic bool over;
static int64_t wrong;

/* given[odd or even][stack]: the id this thread was given. Written inside of enter and leave, read
 * after the rotation: the storage's own order makes it safe to have them without atomics. */
struct worker {
    pthread_t thread;
    int tid;
    uint32_t given[2][STACKS];
    int64_t puts, dropped;
};
static struct worker workers[THREADS];

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static int make_stack(uint32_t n, struct frame *frames)
{
    int depth = 1 + (int)(n % DEPTH_MAX);
    for (int i = 0; i < depth; i++)
        frames[i] = (struct frame){.value = (uintptr_t)n << 16 | (unsigned)i, .bci = i};
    return depth;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    uint64_t random = (uint64_t)worker->tid;
    struct frame frames[DEPTH_MAX];
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        /* Half of them from a few, so that threads meet at the same stack. */
        uint32_t n = (uint32_t)(next_random(&random) % (next_random(&random) % 2 ? 8 : STACKS));
        int depth = make_stack(n, frames);
        worker->puts++;
        int slot = calltrace_enter(storage, worker->tid);
        if (slot < 0) {
            worker->dropped++;
            continue;
        }
        uint32_t id = calltrace_put(storage, slot, frames, depth, false);
        if (id == 0)
            worker->dropped++;
        else
            worker->given[id & 1][n] = id;
        calltrace_leave(storage, slot);
        /* Outside, so that rotations seldom wait for a thread that lost its processor inside. */
        if (worker->puts % 32 == 0)
            sched_yield();
    }
    return NULL;
}

static void complain(const char *what, uint32_t n)
{
    if (wrong++ < 10)
        fprintf(stderr, "calltrace_stress: stack %u: %s\n", n, what);
}

struct chunk {
    uint32_t id[STACKS];
    int parity;
};

static void see(void *context, const struct calltrace *trace)
{
    struct chunk *chunk = context;
    struct frame frames[DEPTH_MAX];
    uint32_t n = (uint32_t)(trace->frames[0].value >> 16);
    if (n >= STACKS || trace->depth != make_stack(n, frames) ||
        memcmp(frames, trace->frames, (size_t)trace->depth * sizeof *frames) != 0) {
        complain("damaged", n);
        return;
    }
    if (chunk->id[n] != 0)
        complain("twice", n);
    chunk->id[n] = trace->id;
    chunk->parity = trace->id & 1;
}

static void check_chunk(const struct chunk *chunk)
{
    for (uint32_t n = 0; n < STACKS; n++) {
        bool given = false;
        for (int i = 0; i < THREADS; i++) {
            uint32_t *id = &workers[i].given[chunk->parity][n];
            if (*id != 0 && *id != chunk->id[n])
                complain(chunk->id[n] == 0 ? "lost" : "under another id", n);
            given |= *id != 0;
            *id = 0;
        }
        if (!given && chunk->id[n] != 0)
            complain("nobody put it", n);
    }
}

/* Most chunks are as short as can be; each eighth is long enough for its indexes to double. */
static int64_t turn(struct chunk *chunk)
{
    static int64_t number;
    memset(chunk, 0, sizeof *chunk);
    for (int i = number++ % 8 == 7 ? 200 : 1; i > 0; i--) {
        const struct timespec pause = {.tv_nsec = i == 1 ? 0 : 1000000};
        calltrace_refill(storage);
        nanosleep(&pause, NULL);
    }
    calltrace_rotate(storage);
    int64_t stored = calltrace_collect(storage, see, chunk);
    if (stored > 0)
        check_chunk(chunk);
    return stored;
}

int main(int argc, char **argv)
{
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
    static struct chunk chunk;
    struct calltrace_counts counts;
    int64_t rotations = 0, stored = 0, puts = 0, dropped = 0;
    storage = calltrace_create((size_t)64 << 20);
    if (storage == NULL)
        return 1;
    for (int i = 0; i < THREADS; i++) {
        workers[i].tid = 1000 + i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    for (; time(NULL) < end; rotations++)
        stored += turn(&chunk);
    atomic_store_explicit(&over, true, memory_order_relaxed);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        puts += workers[i].puts;
        dropped += workers[i].dropped;
    }
    stored += turn(&chunk);
    calltrace_counts(storage, &counts);
    if (counts.offered != puts || counts.stored_new != stored ||
        counts.dropped_budget + counts.dropped_late + counts.dropped_slots != dropped ||
        counts.stored_new + counts.stored_seen + dropped != puts)
        complain("the counts do not add up", 0);
    calltrace_destroy(storage);
    printf("calltrace_stress: %ld puts, %ld stacks, %ld dropped, %ld rotations, %ld wrong\n",
           (long)puts, (long)stored, (long)dropped, (long)rotations, (long)wrong);
    return wrong != 0 || stored == 0;
}
