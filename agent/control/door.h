/*
 * door: callbacks come in, until it is closed.
 *
 * Switching a JVMTI event off does not stop a callback that is under way: callbacks come in through
 * a door, and it is closed, and those inside have left, before the parts are taken down.
 *
 * come_in, go_out: any thread. open, close: one at a time.
 */
#ifndef AGENT_CONTROL_DOOR_H
#define AGENT_CONTROL_DOOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

struct door {
    _Atomic bool open;
    _Atomic int inside;
};

/* False: it is closed; there is nothing to leave then. */
static inline bool door_come_in(struct door *door)
{
    /* Sequentially consistent: pairs with door_close, which stores and then reads the other way
     * round; one of the two sees the other. */
    atomic_fetch_add(&door->inside, 1);
    if (atomic_load(&door->open))
        return true;
    atomic_fetch_sub(&door->inside, 1);
    return false;
}

static inline void door_go_out(struct door *door)
{
    atomic_fetch_sub(&door->inside, 1);
}

static inline void door_open(struct door *door)
{
    atomic_store(&door->open, true);
}

/* Waits until nobody is inside. */
static inline void door_close(struct door *door)
{
    atomic_store(&door->open, false);
    while (atomic_load(&door->inside) != 0)
        usleep(100);
}

#endif
