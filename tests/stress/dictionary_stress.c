/*
 * dictionary_stress SECONDS: four threads put the same texts in different order into one
 * dictionary, look them up, and clear it together. Checked each round: one id a text whoever asks,
 * every text there once, the limit kept.
 */
#include "agent/dict/dictionary.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 4
#define TEXTS   4000

static struct dictionary *dictionary;
static pthread_barrier_t barrier;
static _Atomic bool over;
static _Atomic uint32_t ids[TEXTS];
static _Atomic int64_t wrong, refused;

static void complain(const char *what)
{
    if (atomic_fetch_add(&wrong, 1) < 10)
        fprintf(stderr, "dictionary_stress: %s\n", what);
}

static void put_one(uint32_t n)
{
    char text[32];
    size_t length = (size_t)snprintf(text, sizeof text, "text number %u", n);
    uint32_t before = dictionary_find(dictionary, text, length);
    uint32_t id = dictionary_put(dictionary, text, length), first = 0;
    if (id == 0) {
        atomic_fetch_add(&refused, 1);
        return;
    }
    if (!atomic_compare_exchange_strong(&ids[n], &first, id) && first != id)
        complain("two ids for a text");
    if ((before != 0 && before != id) || dictionary_find(dictionary, text, length) != id)
        complain("found under another id");
}

static void see(void *context, uint32_t id, const char *text, size_t length)
{
    unsigned n;
    (void)length;
    if (sscanf(text, "text number %u", &n) != 1 || n >= TEXTS || ids[n] != id)
        complain("a text that nobody put");
    else
        ids[n] = 0; /* not there twice */
    ++*(uint32_t *)context;
}

static void check_round(uint32_t limit)
{
    uint32_t seen = 0;
    dictionary_each(dictionary, see, &seen);
    if (seen != dictionary_size(dictionary) || seen > limit ||
        (seen < limit && refused == 0 && seen != TEXTS))
        complain("not all texts are there");
    if (dictionary_refused(dictionary) != refused)
        complain("refused texts are not counted");
    for (uint32_t n = 0; n < TEXTS; n++)
        if (ids[n] != 0)
            complain("a text is lost");
}

static void *work(void *argument)
{
    uint32_t step = *(const uint32_t *)argument; /* prime to TEXTS: each text once, in some order */
    while (true) {
        pthread_barrier_wait(&barrier); /* a round begins */
        if (over)
            return NULL;
        for (uint32_t i = 0, n = step; i < TEXTS; i++, n = (n + step) % TEXTS)
            put_one(n);
        pthread_barrier_wait(&barrier); /* a round ends */
    }
}

int main(int argc, char **argv)
{
    static const uint32_t steps[THREADS] = {1, 3, 7, 3999};
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
    pthread_t threads[THREADS];
    int64_t rounds = 0;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)&steps[i]) != 0)
            return 1;
    for (; time(NULL) < end; rounds++) {
        uint32_t limit = rounds % 2 == 0 ? 10000 : TEXTS / 2;
        dictionary = dictionary_create(COMPONENT_DICTIONARY_CONTEXT, limit);
        if (dictionary == NULL)
            return 1;
        for (int again = 0; again < 2; again++) {
            refused = 0;
            pthread_barrier_wait(&barrier);
            pthread_barrier_wait(&barrier);
            if (again == 0)
                check_round(limit);
            dictionary_clear(dictionary);
            for (uint32_t n = 0; n < TEXTS; n++)
                ids[n] = 0;
        }
        dictionary_destroy(dictionary);
    }
    over = true;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    struct mem_snapshot snapshot;
    mem_snapshot(&snapshot);
    if (snapshot.component[COMPONENT_DICTIONARY_CONTEXT].requested_bytes != 0)
        complain("memory is left");
    printf("dictionary_stress: %ld rounds, %ld wrong\n", (long)rounds, (long)wrong);
    return wrong != 0 || rounds == 0;
}
