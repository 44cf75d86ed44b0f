/* Signal context: a handler's way to a buffer. Reaches no symbol outside of this file. */
#include "agent/buffer/recording_buffers.h"
#include "agent/buffer/thread_id_tables.h"

static bool try_take(struct recording_state *state)
{
    /* Acquire; partner: the release in release_buffer, a handler's or the drain's. Forbidden: an
     * event is written over one that is committed, because its length is not seen yet. */
    return !atomic_load_explicit(&state->taken, memory_order_relaxed) &&
           !atomic_exchange_explicit(&state->taken, true, memory_order_acquire);
}

static void release_buffer(struct recording_state *state)
{
    atomic_store_explicit(&state->taken, false, memory_order_release);
}

static void count(_Atomic int64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

uint8_t *recording_buffer_claim(struct recording_buffers *buffers, int tid, int *index)
{
    bool full = false;
    for (unsigned try = 0; try < RECORDING_TRIES; try++) {
        unsigned at = ((unsigned)tid + try) % RECORDING_BUFFERS;
        struct recording_state *state = &buffers->state[at];
        if (!try_take(state))
            continue;
        if (state->used_bytes <= RECORDING_BUFFER_BYTES) {
            *index = (int)at;
            return buffers->bytes + (size_t)at * RECORDING_STRIDE_BYTES + state->used_bytes;
        }
        release_buffer(state);
        full = true;
    }
    count(full ? &buffers->dropped_full : &buffers->dropped_busy);
    return NULL;
}

void recording_buffer_commit(struct recording_buffers *buffers, int index, size_t length)
{
    struct recording_state *state = &buffers->state[index];
    if (length > RECORDING_GUARD_BYTES) {
        count(&buffers->dropped_full);
    } else if (length > 0) {
        state->used_bytes += (uint32_t)length;
        state->events++;
        count(&state->stored);
    }
    release_buffer(state);
}

/* Signal context. Reaches no symbol outside of this file. */
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
