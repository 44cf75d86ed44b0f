/*
 * handlers: who is inside a signal handler, and a way to wait until all who were have left.
 *
 * A handler enters under the parity of the epoch; the one who waits moves the epoch on and waits
 * until the old parity is empty. Handlers that come meanwhile count under the other one, so
 * the wait is as long as a handler takes, however many there are a second.
 *
 * enter, leave: signal context. wait: one thread at a time, not in a handler.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

struct handlers {
    _Atomic uint32_t epoch;
    _Atomic int inside[2];
};

/* All sequentially consistent: the handler counts itself and then looks at the epoch (and at what
 * it came for), the one who waits moves the epoch (after unlinking) and then looks at the count.
 * One of the two sees the other. Forbidden: a handler counted under a parity that was found empty.
 */
static inline uint32_t handlers_enter(struct handlers *handlers)
{
    for (;;) {
        uint32_t epoch = atomic_load(&handlers->epoch);
        atomic_fetch_add(&handlers->inside[epoch % 2], 1);
        if (atomic_load(&handlers->epoch) == epoch)
            return epoch;
        atomic_fetch_sub(&handlers->inside[epoch % 2], 1);
    }
}

static inline void handlers_leave(struct handlers *handlers, uint32_t epoch)
{
    atomic_fetch_sub(&handlers->inside[epoch % 2], 1);
}

static inline void handlers_wait(struct handlers *handlers)
{
    uint32_t epoch = atomic_fetch_add(&handlers->epoch, 1);
    while (atomic_load(&handlers->inside[epoch % 2]) != 0)
        usleep(20);
}
