/*
 * mem_bench ROUNDS [THREADS...]: what agent/mem adds to bare allocation. With numbers of threads: used blocks
 * only, on so many (scripts/bench/account.sh).
 *
 * The load is that of a profiler's tables: a working set of blocks of 16 to 512 bytes, and now and
 * then one of 4 KB; a random one is freed, its successor is allocated. A round runs all manners one
 * after the other, on one thread and on two; CPU time of the threads, without the making of the
 * working set. One manner of bare allocation for each way blocks are asked for:
 *
 *   used    malloc; each block is written from end to end, and read once before it is freed, as a
 *           name that is copied and compared, or a row of a table: against mem_alloc_raw
 *   memset  malloc and memset, nothing else done with the block: against mem_alloc
 *   bare    calloc, the same: slower, since glibc's calloc passes by the per-thread cache
 *
 * Samples: mem_MANNER_ns: one free and one allocation. mem_LEVEL_ratio: mem_alloc against bare, one
 * thread; mem_LEVEL_ratio_2: on two; mem_LEVEL_over_memset; mem_LEVEL_over_used. mem_LEVEL_scaling:
 * how much more expensive an operation gets on two threads, against how much more expensive malloc and memset get
 * (1: nothing added).
 */
#include "agent/mem/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCKS     2048
#define OPERATIONS 200000
#define THREADS    64

enum manner { BARE, MEMSET, SUMMARY, DETAIL, USED, SUMMARY_USED, DETAIL_USED, MANNERS };
static const char *const manner_name[] = {"bare", "memset", "summary", "detail", "used"};

struct run {
    pthread_t thread;
    pthread_barrier_t *start;
    enum manner manner;
    double cpu_ns; /* of one operation */
};

struct step {
    uint16_t block, size;
};

static struct step steps[OPERATIONS];
static char text[16384]; /* what blocks are written with */

static double thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline __attribute__((always_inline)) void *bare_alloc(enum component component, size_t size)
{
    (void)component;
    return calloc(1, size);
}

static inline __attribute__((always_inline)) void *memset_alloc(enum component component,
                                                                size_t size)
{
    (void)component;
    void *block = malloc(size);
    __asm__("" : "+r"(block)); /* or gcc makes the two a calloc */
    return block == NULL ? NULL : memset(block, 0, size);
}

static inline __attribute__((always_inline)) void *malloc_alloc(enum component component,
                                                                size_t size)
{
    (void)component;
    return malloc(size);
}

/* Inlined with the functions known, so that no manner pays for a call through a pointer. */
static inline __attribute__((always_inline)) double churn(void *(*alloc)(enum component, size_t),
                                                          void (*give)(void *), bool used,
                                                          pthread_barrier_t *start)
{
    static __thread void *block[BLOCKS];
    static __thread uint16_t sizes[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        sizes[i] = steps[i].size;
        block[i] = alloc(COMPONENT_CONTROL, sizes[i]);
        memcpy(block[i], text, sizes[i]);
    }
    pthread_barrier_wait(start);
    double began_ns = thread_cpu_ns();
    for (int i = 0; i < OPERATIONS; i++) {
        int at = steps[i].block;
        if (used && memcmp(block[at], text, sizes[at]) != 0)
            abort();
        give(block[at]);
        char *made = alloc(COMPONENT_CONTROL, steps[i].size);
        __asm__("" : "+r"(made)); /* or FORTIFY checks what malloc gave, and no other */
        if (used) {
            sizes[at] = steps[i].size;
            memcpy(made, text, sizes[at]);
        } else {
            made[0] = 1;
        }
        block[at] = made;
    }
    double took_ns = thread_cpu_ns() - began_ns;
    pthread_barrier_wait(start);
    for (int i = 0; i < BLOCKS; i++)
        give(block[i]);
    return took_ns / OPERATIONS;
}

static void *body(void *argument)
{
    struct run *run = argument;
    switch (run->manner) {
    case BARE:
        run->cpu_ns = churn(bare_alloc, free, false, run->start);
        break;
    case MEMSET:
        run->cpu_ns = churn(memset_alloc, free, false, run->start);
        break;
    case USED:
        run->cpu_ns = churn(malloc_alloc, free, true, run->start);
        break;
    case SUMMARY:
    case DETAIL:
        run->cpu_ns = churn(mem_alloc, mem_free, false, run->start);
        break;
    default:
        run->cpu_ns = churn(mem_alloc_raw, mem_free, true, run->start);
        break;
    }
    return NULL;
}

static double run_threads(enum manner manner, unsigned threads)
{
    pthread_barrier_t start;
    static struct run run[THREADS];
    double cpu_ns = 0;
    mem_set_level(manner == DETAIL || manner == DETAIL_USED ? MEM_DETAIL : MEM_SUMMARY);
    pthread_barrier_init(&start, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        run[i] = (struct run){.start = &start, .manner = manner};
        pthread_create(&run[i].thread, NULL, body, &run[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(run[i].thread, NULL);
        cpu_ns += run[i].cpu_ns / threads;
    }
    pthread_barrier_destroy(&start);
    return cpu_ns;
}

static void sample(const char *manner, const char *what, double value)
{
    printf("mem_%s_%s %.4f\n", manner, what, value);
}

/* Samples ROUND THREADS MANNER NANOSECONDS, interleaved. */
static void scale(int rounds, char **numbers)
{
    static const enum manner manners[] = {USED, SUMMARY_USED, DETAIL_USED};
    static const char *const names[] = {"malloc", "summary", "detail"};
    for (int round = -1; round < rounds; round++) {
        for (int t = 0; numbers[t] != NULL; t++) {
            int threads = atoi(numbers[t]);
            /* In any order: a heap is as its last user left it. */
            int first = (int)(random() % 3), step = 1 + (int)(random() % 2);
            for (int i = 0; i < 3 && threads > 0 && threads <= THREADS; i++) {
                int m = (first + i * step) % 3;
                double ns = run_threads(manners[m], (unsigned)threads);
                if (round >= 0)
                    printf("%d %d %s %.2f\n", round, threads, names[m], ns);
            }
        }
    }
}

int main(int argc, char **argv)
{
    int rounds = argc >= 2 ? atoi(argv[1]) : 0;
    if (rounds <= 0) {
        fprintf(stderr, "usage: mem_bench ROUNDS [THREADS...]\n");
        return 2;
    }
    srandom(1);
    for (int i = 0; i < OPERATIONS; i++)
        steps[i] = (struct step){(uint16_t)(random() % BLOCKS),
                                 (uint16_t)(random() % 64 == 0 ? 4096 : 16 + random() % 497)};
    if (argc > 2) {
        scale(rounds, argv + 2);
        return 0;
    }
    for (int round = -1; round < rounds; round++) { /* the first warms up */
        double ns[MANNERS][2];
        for (unsigned threads = 1; threads <= 2; threads++) {
            for (int i = 0; i < MANNERS; i++) {
                enum manner manner = (enum manner)((i + round + 1) % MANNERS);
                ns[manner][threads - 1] = run_threads(manner, threads);
            }
        }
        if (round < 0)
            continue;
        sample("bare", "ns", ns[BARE][0]);
        sample("memset", "ns", ns[MEMSET][0]);
        sample("used", "ns", ns[USED][0]);
        sample("summary", "over_used", ns[SUMMARY_USED][0] / ns[USED][0]);
        sample("detail", "over_used", ns[DETAIL_USED][0] / ns[USED][0]);
        for (int manner = SUMMARY; manner <= DETAIL; manner++) {
            sample(manner_name[manner], "ratio", ns[manner][0] / ns[BARE][0]);
            sample(manner_name[manner], "ratio_2", ns[manner][1] / ns[BARE][1]);
            sample(manner_name[manner], "over_memset", ns[manner][0] / ns[MEMSET][0]);
            sample(manner_name[manner], "scaling",
                   ns[manner][1] / ns[manner][0] / (ns[MEMSET][1] / ns[MEMSET][0]));
        }
    }
    return 0;
}
