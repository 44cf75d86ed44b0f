/*
 * account: the counters behind mem.h, striped so that counting does not make threads meet.
 *
 * A thread takes a stripe of its own at its first allocation and gives it back when it ends; what
 * it counted stays in the stripe, and a component is the sum over all stripes. So the usual count
 * is a plain load, add and store on memory no other thread writes: no locked instruction, which is
 * most of what a counter would otherwise cost. Threads beyond THREAD_STRIPES, and threads that are
 * ending, borrow one of BORROWED_STRIPES for a single count.
 *
 * A stripe's version is odd while it is written, so that a reader sees all counters of a change or
 * none: within a stripe sum(tally[].reserved) == all_reserved at any moment somebody can look.
 *
 * Internal to agent/mem. Any thread, never in a signal handler.
 */
#ifndef AGENT_MEM_ACCOUNT_H
#define AGENT_MEM_ACCOUNT_H

#include "agent/mem/mem.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREAD_STRIPES   48
#define BORROWED_STRIPES 16
#define STRIPES          (THREAD_STRIPES + BORROWED_STRIPES)

/* The live bytes of a component are summed up for its peak when a stripe's share has moved by so
 * much. At the true peak each stripe can be off by twice that: a peak is low by at most 32 KB for
 * every thread that allocates, and never high. */
#define PEAK_STEP_BYTES 16384

#define MAPS_LISTED 1024

/* Live amounts are signed: a thread that frees what others allocated counts below zero. */
struct tally {
    _Atomic int64_t requested_bytes;
    _Atomic int64_t reserved_bytes; /* of malloc'ed blocks and of maps */
    _Atomic int64_t mapped_bytes;   /* the part of reserved that is maps */
    _Atomic int64_t allocations;
    _Atomic int64_t frees;
    _Atomic int64_t peak_mark; /* reserved_bytes when the peak was looked at */
};

struct stripe {
    _Alignas(64) _Atomic uint32_t taken;
    _Atomic uint32_t version;
    _Atomic int64_t all_reserved_bytes; /* the second count */
    struct tally tally[COMPONENT_COUNT];
};

struct listed_map {
    _Atomic uintptr_t address; /* 0: free; MAP_BEING_LISTED */
    _Atomic size_t size;       /* whole pages */
    _Atomic uint32_t component;
    _Atomic uint32_t site;
};

struct account {
    pthread_key_t thread_end;
    bool have_thread_end;
    _Atomic int64_t damaged;
    _Atomic int64_t unlisted_bytes[COMPONENT_COUNT]; /* maps that found no room in map[] */
    _Atomic int64_t peak_bytes[COMPONENT_COUNT];
    _Atomic int64_t peak_total_bytes;
    _Atomic uint32_t stripes_used; /* stripes above were never taken */
    _Atomic uint32_t maps_used;
    struct stripe stripe[STRIPES];
    struct listed_map map[MAPS_LISTED];
    struct mem_snapshot baseline;
};

/* One counted change of one component. */
struct change {
    enum component component;
    int64_t requested_bytes;
    int64_t reserved_bytes;
    int64_t mapped_bytes;
    int64_t allocations;
    int64_t frees;
};

/* The account, made at the first call; NULL when there is no memory for it. */
struct account *account_get(void);

/* The stripe to count in, NULL without an account; account_put_stripe when done. */
struct stripe *account_take_stripe(void);
void account_put_stripe(struct stripe *stripe);

/* False: there is no account, nothing was counted. */
bool account_count(const struct change *change);

/* What all stripes say of one component; false when a stripe could not be read whole (a forked
 * child whose other threads vanished inside). */
struct tally_sum {
    int64_t requested_bytes, reserved_bytes, mapped_bytes, allocations, frees;
};
bool account_sum(struct tally_sum sum[COMPONENT_COUNT], int64_t *all_reserved_bytes);

/* Takes live bytes as seen now into the peaks. */
void account_raise_peak(_Atomic int64_t *peak, int64_t bytes);

#endif
