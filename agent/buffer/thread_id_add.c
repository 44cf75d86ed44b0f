/* Signal context. Reaches no symbol outside of this file. */
#include "agent/buffer/thread_id_layout.h"

void thread_id_tables_add(struct thread_id_tables *tables, int index, int tid)
{
    /* Acquire; partner: the release in thread_id_tables_collect. Forbidden: an id goes into a half
     * before the drain has emptied it, and is taken away with what it held before. */
    int active = atomic_load_explicit(&tables->active, memory_order_acquire);
    _Atomic int32_t *slots = tables->half[active].tid[index];
    for (unsigned step = 0; step < THREAD_ID_SLOTS; step++) {
        /* Threads of one buffer have ids that are equal modulo the number of buffers. */
        unsigned at = ((unsigned)tid / RECORDING_BUFFERS + step) % THREAD_ID_SLOTS;
        int32_t found = atomic_load_explicit(&slots[at], memory_order_relaxed);
        if (found == tid)
            return;
        /* Relaxed: an id says nothing about other memory. */
        if (found == 0 && atomic_compare_exchange_strong_explicit(
                              &slots[at], &found, tid, memory_order_relaxed, memory_order_relaxed))
            return;
        if (found == tid)
            return;
    }
    atomic_fetch_add_explicit(&tables->missed, 1, memory_order_relaxed);
}
