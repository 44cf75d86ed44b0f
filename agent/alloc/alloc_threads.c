#include "agent/alloc/alloc_threads.h"

#include "agent/mem/mem.h"

#include <string.h>

#define CHAINS      1024
#define FIRST_PLACE 64

struct alloc_threads {
    struct alloc_thread *place;
    int32_t places, used; /* used: of the places, ever */
    uint32_t free;        /* a number + 1; 0: none */
    int64_t refused;
    uint32_t chain[CHAINS]; /* likewise */
};

static uint32_t *chain_of(struct alloc_threads *threads, const void *env)
{
    /* JavaThreads are large and aligned: the low bits say nothing. */
    uint64_t mixed = (uint64_t)(uintptr_t)env * 0x9e3779b97f4a7c15u;
    return &threads->chain[mixed >> 54];
}
_Static_assert(CHAINS == 1 << 10, "the upper bits of a product");

struct alloc_threads *alloc_threads_create(void)
{
    return mem_alloc(COMPONENT_ALLOC_PROFILE, sizeof(struct alloc_threads));
}

int32_t alloc_threads_find(const struct alloc_threads *threads, const void *env)
{
    uint32_t at = *chain_of((struct alloc_threads *)(uintptr_t)threads, env);
    while (at != 0 && threads->place[at - 1].env != env)
        at = threads->place[at - 1].next;
    return (int32_t)at - 1;
}

static bool make_room(struct alloc_threads *threads)
{
    int32_t places = threads->places > 0 ? threads->places * 2 : FIRST_PLACE;
    if (places > ALLOC_THREADS_MAX)
        return false;
    struct alloc_thread *place =
        mem_resize(COMPONENT_ALLOC_PROFILE, threads->place, (size_t)places * sizeof *place);
    if (place == NULL)
        return false;
    threads->place = place;
    threads->places = places;
    return true;
}

int32_t alloc_threads_add(struct alloc_threads *threads, const void *env, int64_t java_id,
                          int64_t bytes)
{
    int32_t number = alloc_threads_find(threads, env);
    if (number >= 0)
        return number;
    if (threads->free != 0) {
        number = (int32_t)threads->free - 1;
        threads->free = threads->place[number].next;
    } else if (threads->used < threads->places || make_room(threads)) {
        number = threads->used++;
    } else {
        threads->refused++;
        return -1;
    }
    uint32_t *chain = chain_of(threads, env);
    threads->place[number] = (struct alloc_thread){.env = env,
                                                   .java_id = java_id,
                                                   .first_bytes = bytes,
                                                   .counted_bytes = bytes,
                                                   .latest_bytes = bytes,
                                                   .next = *chain};
    *chain = (uint32_t)number + 1;
    return number;
}

struct alloc_thread *alloc_threads_at(struct alloc_threads *threads, int32_t number)
{
    return &threads->place[number];
}

int32_t alloc_threads_count(const struct alloc_threads *threads)
{
    return threads->used;
}

void alloc_threads_read(struct alloc_thread *thread, int64_t bytes)
{
    if (bytes > thread->latest_bytes)
        thread->latest_bytes = bytes;
}

void alloc_threads_ended(struct alloc_threads *threads, int32_t number, int64_t bytes)
{
    struct alloc_thread *thread = &threads->place[number];
    uint32_t *at = chain_of(threads, thread->env);
    if (thread->ended)
        return;
    while (*at != (uint32_t)number + 1)
        at = &threads->place[*at - 1].next;
    *at = thread->next;
    thread->ended = true;
    alloc_threads_read(thread, bytes);
}

int64_t alloc_threads_take(struct alloc_threads *threads, int32_t number)
{
    struct alloc_thread *thread = &threads->place[number];
    if (thread->env == NULL)
        return 0;
    int64_t bytes = thread->latest_bytes - thread->counted_bytes;
    thread->counted_bytes = thread->latest_bytes;
    if (thread->ended) {
        thread->env = NULL;
        thread->next = threads->free;
        threads->free = (uint32_t)number + 1;
    }
    return bytes;
}

int64_t alloc_threads_refused(const struct alloc_threads *threads)
{
    return threads->refused;
}

void alloc_threads_destroy(struct alloc_threads *threads)
{
    if (threads == NULL)
        return;
    mem_free(threads->place);
    mem_free(threads);
}
