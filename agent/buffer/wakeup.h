/*
 * wakeup: how handlers wake the drain thread before its time is up.
 *
 * The drain thread empties what handlers fill. It waits for up to a second; every WAKEUP_EVENTS-th event asks it
 * to come earlier. However many ask, two of its turns are at least a rest apart: a turn costs
 * as much as many events.
 *
 *     WAITING --ask--> ASKED --the drain rests--> RESTING --it comes--> WAITING
 *        any --stop--> STOPPED
 *
 * wakeup_count: signal context; errno is saved by the caller. wakeup_stop: any thread but in a
 * handler. wakeup_wait: the drain thread.
 */
#pragma once

#include "agent/mem/mem.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bytes of that many stacks and events lie far below the first chunk of an arena and a recording buffer. */
#define WAKEUP_EVENTS 128

enum { WAKEUP_WAITING, WAKEUP_ASKED, WAKEUP_RESTING, WAKEUP_STOPPED };

struct wakeup {
    _Atomic uint32_t state; /* a futex */
};

static inline void wakeup_wait_while(struct wakeup *wakeup, uint32_t state, int64_t until_ns)
{
    const struct timespec until = {.tv_sec = until_ns / 1000000000,
                                   .tv_nsec = until_ns % 1000000000};
    syscall(SYS_futex, &wakeup->state, FUTEX_WAIT_BITSET_PRIVATE, state, &until, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

/* number: of the event, counted by the caller. */
static inline void wakeup_count(struct wakeup *wakeup, int64_t number)
{
    uint32_t waiting = WAKEUP_WAITING;
    if (number % WAKEUP_EVENTS == 0 &&
        atomic_compare_exchange_strong(&wakeup->state, &waiting, WAKEUP_ASKED))
        syscall(SYS_futex, &wakeup->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void wakeup_stop(struct wakeup *wakeup)
{
    atomic_store(&wakeup->state, WAKEUP_STOPPED);
    syscall(SYS_futex, &wakeup->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Until latest_ns of CLOCK_MONOTONIC, or until somebody asks, but not before earliest_ns. False: stopped. */
static inline bool wakeup_wait(struct wakeup *wakeup, int64_t earliest_ns, int64_t latest_ns)
{
    uint32_t state;
    while ((state = atomic_load(&wakeup->state)) != WAKEUP_STOPPED) {
        int64_t now_ns = clock_now_ns();
        int64_t until_ns = state == WAKEUP_WAITING ? latest_ns : earliest_ns;
        uint32_t next = now_ns >= until_ns ? WAKEUP_WAITING : WAKEUP_RESTING;
        if (state == WAKEUP_ASKED || now_ns >= until_ns) {
            if (!atomic_compare_exchange_strong(&wakeup->state, &state, next))
                continue;
            if (next == WAKEUP_WAITING)
                return true;
        } else {
            wakeup_wait_while(wakeup, state, until_ns);
        }
    }
    return false;
}
