/*
 * mem_stress SECONDS: the lock-free parts of agent/mem under ThreadSanitizer.
 *
 * Threads come and go; they allocate, hand each other blocks to free,
 * map and unmap, and put into one arena, while the main thread takes snapshots, refills the arena
 * and asks for sites. No piece of the arena may be handed out
 * twice, and at the end nothing is left and everything was counted.
 */
#include "agent/mem/arena.h"
#include "agent/mem/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS    80
#define HANDED     64
#define GENERATION 200 /* changes a thread makes before it ends and another one starts */

static _Atomic bool enough;
static _Atomic int failures;
static _Atomic(void *) handed[HANDED]; /* blocks on their way to another thread */
static _Atomic int64_t made, freed, pieces, refused;
static struct arena *arena;

static void fail(const char *what)
{
    fprintf(stderr, "mem_stress: %s\n", what);
    atomic_fetch_add(&failures, 1);
}

static void change_block(unsigned *seed)
{
    size_t size = (size_t)rand_r(seed) % 300 + 1;
    char *block = mem_alloc((enum component)((unsigned)rand_r(seed) % COMPONENT_COUNT), size);
    if (block[0] != 0 || block[size - 1] != 0)
        fail("a block is not zero");
    memset(block, 1, size);
    atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
    void *other = atomic_exchange(&handed[(unsigned)rand_r(seed) % HANDED], block);
    if (other == NULL)
        return;
    mem_free(other);
    atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
}

static void change_map(unsigned *seed)
{
    size_t size = (size_t)rand_r(seed) % 20000 + 1;
    char *map = mem_map(COMPONENT_RECORDING_BUFFERS, size);
    map[0] = 1;
    mem_unmap(COMPONENT_RECORDING_BUFFERS, map, size);
}

static void use_arena(unsigned *seed)
{
    size_t words = (size_t)rand_r(seed) % 20 + 1;
    uint32_t reference = arena_alloc(arena, words * sizeof(uint64_t));
    if (reference == 0) {
        atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
        return;
    }
    uint64_t *piece = arena_at(arena, reference);
    for (size_t i = 0; i < words; i++) {
        if (piece[i] != 0)
            fail("a piece of the arena was handed out twice");
        piece[i] = (uintptr_t)piece;
    }
    atomic_fetch_add_explicit(&pieces, 1, memory_order_relaxed);
}

static void *change(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < GENERATION && !atomic_load(&enough); i++) {
        change_block(&seed);
        use_arena(&seed);
        if (i % 16 == 0)
            change_map(&seed);
    }
    return NULL;
}

/* Keeps one thread after the other alive. */
static void *generations(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    while (!atomic_load(&enough)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, change, (void *)(uintptr_t)rand_r(&seed)) != 0)
            return NULL;
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void look(void)
{
    struct mem_snapshot now;
    struct mem_site site[10];
    mem_snapshot(&now);
    arena_refill(arena);
    mem_sites(site, 10);
}

static void check_the_end(const struct mem_snapshot *before)
{
    struct mem_snapshot after;
    for (int i = 0; i < HANDED; i++) {
        if (atomic_load(&handed[i]) == NULL)
            continue;
        mem_free(atomic_load(&handed[i]));
        atomic_fetch_add(&freed, 1);
    }
    arena_destroy(arena);
    mem_snapshot(&after);
    for (int i = 0; i < COMPONENT_COUNT; i++) {
        if (i != COMPONENT_ACCOUNTING && after.component[i].reserved_bytes != 0)
            fail(component_name((enum component)i));
    }
    if (mem_damaged() != 0)
        fail("damage");
    if (after.total.reserved_bytes != before->total.reserved_bytes)
        fail("something is left");
    struct mem_site left[10];
    if (mem_sites(left, 10) != 0)
        fail("a site is left");
    if (atomic_load(&made) != atomic_load(&freed))
        fail("made and freed differ");
    if (atomic_load(&pieces) == 0)
        fail("the arena gave nothing");
}

int main(int argc, char **argv)
{
    int seconds = argc == 2 ? atoi(argv[1]) : 0;
    if (seconds <= 0) {
        fprintf(stderr, "usage: mem_stress SECONDS\n");
        return 2;
    }
    struct mem_snapshot before;
    pthread_t thread[THREADS];
    mem_set_level(MEM_DETAIL);
    mem_free(mem_alloc(COMPONENT_CONTROL, 1)); /* the table of sites is there from here on */
    mem_snapshot(&before);
    struct mem_budget budget = {.bound_bytes = 64 << 20};
    arena = arena_create(COMPONENT_CALL_TRACE_STORAGE, &budget);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, generations, (void *)(uintptr_t)(i + 1));
    time_t end = time(NULL) + seconds;
    while (time(NULL) < end) {
        look();
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    check_the_end(&before);
    printf("mem_stress: %lld blocks, %lld pieces of the arena, %lld refused, %d failures\n",
           (long long)made, (long long)pieces, (long long)refused, failures);
    return failures == 0 ? 0 : 1;
}
