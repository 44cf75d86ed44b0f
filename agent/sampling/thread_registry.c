#include "agent/sampling/thread_registry.h"

#include "agent/mem/mem.h"

#include <string.h>

static bool add_slab(struct thread_registry *registry)
{
    if (registry->slabs == THREAD_SLABS_MAX)
        return false;
    struct thread_entry *slab = mem_alloc(COMPONENT_THREADS, THREAD_SLAB * sizeof *slab);
    if (slab == NULL)
        return false;
    registry->slab[registry->slabs++] = slab;
    for (int i = THREAD_SLAB - 1; i >= 0; i--) {
        slab[i].list = registry->free;
        registry->free = &slab[i];
    }
    return true;
}

static struct thread_entry *take(struct thread_registry *registry, struct handlers *handlers)
{
    if (registry->free == NULL && registry->retired != NULL) {
        handlers_wait(handlers);
        registry->free = registry->retired;
        registry->retired = NULL;
    }
    if (registry->free == NULL && !add_slab(registry))
        return NULL;
    struct thread_entry *entry = registry->free;
    registry->free = entry->list;
    return entry;
}

struct thread_entry *registry_add(struct thread_registry *registry, int tid,
                                  struct handlers *handlers)
{
    struct thread_entry *entry = take(registry, handlers);
    if (entry == NULL)
        return NULL;
    memset(entry, 0, sizeof *entry);
    _Atomic(struct thread_entry *) *chain = &registry->chain[(unsigned)tid % THREAD_CHAINS];
    entry->timer = TIMER_INIT;
    atomic_store_explicit(&entry->tid, tid, memory_order_relaxed);
    atomic_store_explicit(&entry->next, atomic_load_explicit(chain, memory_order_relaxed),
                          memory_order_relaxed);
    /* Release; partner: registry_find. */
    atomic_store_explicit(chain, entry, memory_order_release);
    registry->threads++;
    return entry;
}

void registry_remove(struct thread_registry *registry, struct thread_entry *entry)
{
    int tid = atomic_load_explicit(&entry->tid, memory_order_relaxed);
    _Atomic(struct thread_entry *) *link = &registry->chain[(unsigned)tid % THREAD_CHAINS];
    struct thread_entry *at;
    while ((at = atomic_load_explicit(link, memory_order_relaxed)) != entry && at != NULL)
        link = &at->next;
    if (at == NULL)
        return;
    atomic_store_explicit(link, atomic_load_explicit(&entry->next, memory_order_relaxed),
                          memory_order_seq_cst);
    atomic_store_explicit(&entry->tid, 0, memory_order_seq_cst);
    entry->list = registry->retired;
    registry->retired = entry;
    registry->threads--;
}

struct thread_entry *registry_at(struct thread_registry *registry, int index)
{
    return index < registry->slabs * THREAD_SLAB
               ? &registry->slab[index / THREAD_SLAB][index % THREAD_SLAB]
               : NULL;
}

void registry_clear(struct thread_registry *registry)
{
    struct thread_entry *entry;
    for (int i = 0; (entry = registry_at(registry, i)) != NULL; i++) {
        if (atomic_load_explicit(&entry->tid, memory_order_relaxed) != 0)
            mem_free(entry->name);
    }
    for (int i = 0; i < registry->slabs; i++)
        mem_free(registry->slab[i]);
    memset(registry, 0, sizeof *registry);
}

#define FIRST_ROWS 256

static bool make_room(struct ended_threads *ended)
{
    static const struct mem_array ROWS = {COMPONENT_THREADS, sizeof *ended->row, FIRST_ROWS,
                                          ENDED_MAX};
    return mem_grow(&ROWS, &ended->row, &ended->capacity, (size_t)ended->count + 1);
}

static void link_row(struct ended_threads *ended, int32_t index)
{
    struct ended_thread *row = &ended->row[index];
    int32_t *chain = &ended->chain[(unsigned)row->tid % ENDED_CHAINS];
    row->next = *chain;
    *chain = index + 1;
}

void ended_threads_add(struct ended_threads *ended, int tid, char *name, int64_t java_id)
{
    if (name == NULL || !make_room(ended)) {
        ended->refused++;
        mem_free(name);
        return;
    }
    ended->row[ended->count] = (struct ended_thread){.tid = tid, .java_id = java_id, .name = name};
    link_row(ended, ended->count++);
}

const struct ended_thread *ended_threads_find(const struct ended_threads *ended, int tid)
{
    for (int32_t at = ended->chain[(unsigned)tid % ENDED_CHAINS]; at != 0;
         at = ended->row[at - 1].next) {
        if (ended->row[at - 1].tid == tid)
            return &ended->row[at - 1];
    }
    return NULL;
}

void ended_threads_turn(struct ended_threads *ended)
{
    int32_t old = ended->last_turn;
    for (int32_t i = 0; i < old; i++)
        mem_free(ended->row[i].name);
    ended->count -= old;
    ended->last_turn = ended->count;
    if (old == 0)
        return;
    memmove(ended->row, ended->row + old, (size_t)ended->count * sizeof *ended->row);
    memset(ended->chain, 0, sizeof ended->chain);
    for (int32_t i = 0; i < ended->count; i++)
        link_row(ended, i);
}

void ended_threads_clear(struct ended_threads *ended)
{
    for (int32_t i = 0; i < ended->count; i++)
        mem_free(ended->row[i].name);
    mem_free(ended->row);
    memset(ended, 0, sizeof *ended);
}
