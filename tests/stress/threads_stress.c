/*
 * Threads that look themselves up, as a handler does, while others come and go in the same chains.
 *
 * usage: threads_stress SECONDS      exit 1 when somebody was not found, or entries are not used
 * again
 */
#include "agent/sampling/thread_registry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FINDERS 3
#define CHURN   40

static struct thread_registry registry;
static struct handlers handlers;
static _Atomic bool stop;
static _Atomic long found, wrong;

/* One chain for all: the hardest case. */
static int tid_in_chain(int number)
{
    return 7 + number * THREAD_CHAINS;
}

static void *find(void *argument)
{
    int tid = tid_in_chain((int)(intptr_t)argument);
    while (!atomic_load(&stop)) {
        uint32_t epoch = handlers_enter(&handlers);
        struct thread_entry *entry = registry_find(&registry, tid);
        if (entry == NULL || entry_tid(entry) != tid)
            atomic_fetch_add(&wrong, 1);
        handlers_leave(&handlers, epoch);
        atomic_fetch_add(&found, 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t thread[FINDERS];
    long rounds = 0;
    for (int i = 0; i < FINDERS; i++) {
        registry_add(&registry, tid_in_chain(i), &handlers);
        pthread_create(&thread[i], NULL, find, (void *)(intptr_t)i);
    }
    unsigned seed = 1;
    for (time_t end = time(NULL) + seconds; time(NULL) < end; rounds++) {
        /* Half of them in the finders' chain, half elsewhere: entries wander between chains. */
        int tid = tid_in_chain(FINDERS + rand_r(&seed) % CHURN) + rand_r(&seed) % 2;
        struct thread_entry *entry = registry_find(&registry, tid);
        if (entry != NULL)
            registry_remove(&registry, entry);
        else if (registry_add(&registry, tid, &handlers) == NULL)
            atomic_fetch_add(&wrong, 1);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < FINDERS; i++)
        pthread_join(thread[i], NULL);
    printf("%ld rounds, %ld lookups, %ld wrong, %d slabs\n", rounds, atomic_load(&found),
           atomic_load(&wrong), registry.slabs);
    int slabs = registry.slabs; /* entries are used again: no more than live at once, and one */
    registry_clear(&registry);
    return atomic_load(&wrong) != 0 || slabs > 4 || atomic_load(&found) == 0;
}
