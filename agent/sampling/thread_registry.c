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
