/* The drain thread's part of the recording buffers. */
#include "agent/buffer/recording_buffers.h"

#include "agent/mem/mem.h"

#include <sched.h>
#include <time.h>

#define ALL_BYTES ((size_t)RECORDING_BUFFERS * RECORDING_STRIDE_BYTES)

struct recording_buffers *recording_buffers_create(void)
{
    /* Mapped, not allocated: cache lines of their own begin at one. */
    struct recording_buffers *buffers = mem_map(COMPONENT_CONTROL, sizeof *buffers);
    if (buffers == NULL)
        return NULL;
    buffers->bytes = mem_map(COMPONENT_RECORDING_BUFFERS, ALL_BYTES);
    if (buffers->bytes == NULL) {
        mem_unmap(COMPONENT_CONTROL, buffers, sizeof *buffers);
        return NULL;
    }
    return buffers;
}

void recording_buffers_destroy(struct recording_buffers *buffers)
{
    if (buffers == NULL)
        return;
    mem_unmap(COMPONENT_RECORDING_BUFFERS, buffers->bytes, ALL_BYTES);
    mem_unmap(COMPONENT_CONTROL, buffers, sizeof *buffers);
}

/* A handler has it for the time of a stack walk, longer only when the kernel takes its processor
 * away. It never waits for us, so this ends. */
static void take(struct recording_state *state)
{
    const struct timespec pause = {.tv_nsec = 50000};
    /* Acquire; partner: the release in release_buffer. Forbidden: an event is flushed before it is
     * written. */
    for (int turn = 0; atomic_exchange_explicit(&state->taken, true, memory_order_acquire);
         turn++) {
        if (turn < 16)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
}

bool recording_buffers_flush(struct recording_buffers *buffers, recording_write_fn *write,
                             void *context)
{
    bool good = true;
    for (int i = 0; i < RECORDING_BUFFERS; i++) {
        struct recording_state *state = &buffers->state[i];
        take(state);
        if (state->used_bytes > 0 &&
            !write(context, buffers->bytes + (size_t)i * RECORDING_STRIDE_BYTES,
                   state->used_bytes)) {
            atomic_fetch_add_explicit(&buffers->lost_on_write, state->events, memory_order_relaxed);
            good = false;
        }
        state->used_bytes = 0;
        state->events = 0;
        /* Release; partner: the acquire in try_take. Forbidden: a handler appends to what is
         * flushed already. */
        atomic_store_explicit(&state->taken, false, memory_order_release);
    }
    return good;
}

void recording_buffer_counts(const struct recording_buffers *buffers,
                             struct recording_buffer_counts *counts)
{
    *counts = (struct recording_buffer_counts){
        .dropped_busy = atomic_load_explicit(&buffers->dropped_busy, memory_order_relaxed),
        .dropped_full = atomic_load_explicit(&buffers->dropped_full, memory_order_relaxed),
        .lost_on_write = atomic_load_explicit(&buffers->lost_on_write, memory_order_relaxed),
    };
    for (int i = 0; i < RECORDING_BUFFERS; i++)
        counts->stored += atomic_load_explicit(&buffers->state[i].stored, memory_order_relaxed);
    counts->offered = counts->stored + counts->dropped_busy + counts->dropped_full;
}
