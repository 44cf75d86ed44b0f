/* Signal context: reaches no symbol outside of itself. */
#include "agent/sampling/thread_registry.h"

struct thread_entry *registry_find(struct thread_registry *registry, int tid)
{
    /* Acquire; partner: registry_add's release. Forbidden: an entry is seen and not yet its tid. */
    struct thread_entry *entry =
        atomic_load_explicit(&registry->chain[(unsigned)tid % THREAD_CHAINS], memory_order_acquire);
    while (entry != NULL && atomic_load_explicit(&entry->tid, memory_order_relaxed) != tid)
        entry = atomic_load_explicit(&entry->next, memory_order_acquire);
    return entry;
}
