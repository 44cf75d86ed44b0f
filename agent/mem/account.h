/*
 * account: the counters behind mem.h, striped so that threads do not share counters.
 *
 * A thread takes a stripe of its own at its first allocation and gives it back when it ends; what
 * it counted stays in the stripe, and a component is the sum over all stripes. So the usual count
 * is a plain load, add and store on memory no other thread writes: no locked instruction, which is
 * most of what a counter would otherwise cost. Threads beyond THREAD_STRIPES, and threads that are
 * ending, borrow one of BORROWED_STRIPES for a single count.
 *
 * The second count: each stripe also counts the reserved bytes of all components together, after
 * the component. A reader looks at a stripe until the two agree; they never do when a count was
 * lost or went to the wrong place.
 *
 * Internal to agent/mem. Any thread, never in a signal handler.
 */
#pragma once

#include "agent/mem/mem.h"
#include MACHINE_COUNTER /* agent/mem/<architecture>/counter.h: account_add, account_is_above ... */

#include <pthread.h>
#include <stdatomic.h>

#define THREAD_STRIPES   48
#define BORROWED_STRIPES 16
#define STRIPES          (THREAD_STRIPES + BORROWED_STRIPES)

/* The live bytes of a component are summed up for its peak when a stripe has grown by so much
 * since the last sum. So a peak is low by at most 16 KB for every thread that allocates; it is
 * high only by what changed while it was summed up. */
#define PEAK_STEP_BYTES 16384

#define MAPS_LISTED  1024
#define FILES_LISTED 64 /* a library has four segments */

/* Live amounts are signed: a thread that frees what others allocated counts below zero. */
struct tally {
    _Alignas(64) _Atomic int64_t requested_bytes;
    _Atomic int64_t reserved_bytes; /* of malloc'ed blocks and of maps */
    _Atomic int64_t mapped_bytes;   /* the part of reserved that is maps */
    _Atomic int64_t allocations;
    _Atomic int64_t frees;
    _Atomic int64_t peak_look; /* reserved_bytes beyond which the peak is looked at */
    _Atomic uint64_t tag;      /* of a block of size 0 without a call site: see below */
};
_Static_assert(sizeof(struct tally) == 64, "one line of the cache");

/* Of a call site, by one thread. Signed, as a tally. */
struct site_tally {
    _Atomic int64_t bytes;
    _Atomic int64_t blocks;
};

struct stripe {
    _Alignas(64) _Atomic uint32_t taken;
    _Atomic int64_t all_reserved_bytes; /* the second count */
    _Atomic(struct site_tally *) sites; /* SITES of them; NULL until level detail counts here */
    _Atomic uint64_t plain_below;       /* bytes; see account_own_stripe */
    struct tally tally[COMPONENT_COUNT];
};

struct listed_map {
    _Atomic uintptr_t address; /* 0: free; MAP_BEING_LISTED */
    _Atomic size_t size;       /* whole pages */
    _Atomic uint32_t component;
    _Atomic uint32_t site;
};

struct listed_file {
    _Atomic uintptr_t address; /* 0: free; BEING_LISTED */
    _Atomic size_t size;
    _Atomic uint32_t component;
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
    _Atomic int64_t files_added[COMPONENT_COUNT];
    _Atomic int64_t files_forgotten[COMPONENT_COUNT];
    _Atomic int64_t file_peak_bytes[COMPONENT_COUNT];
    struct listed_file file[FILES_LISTED];
    struct stripe stripe[STRIPES];
    struct listed_map map[MAPS_LISTED];
    struct mem_snapshot baseline;
};
_Static_assert(sizeof(struct listed_map) * MAPS_LISTED >= (UINT8_MAX + 1) * sizeof(struct tally),
               "also the tally of a component that there is not lies inside");

/*
 * The tag: what a block's header says of it besides its size. One word, so that it is written,
 * checked and read at once; its canary depends on all other bits of it. In a header the size is
 * xor'ed to the site's bits (mem.c), so that the canary depends on that, too:
 *
 *    bit 0           32          40       48        64
 *    +---------------+-----------+--------+---------+
 *    | site          | component | level  | canary  |
 *    +---------------+-----------+--------+---------+
 *
 * Without a call site all of it but the size is known beforehand: each tally has it, sealed for
 * size 0.
 */
#define TAG_BITS         48 /* site, component, level: what is under the canary */
#define TAG_COMPONENT_AT 32
#define TAG_LEVEL_AT     40

/* fields: the bits under the canary. All zero is no tag: such memory is no block. */
static inline uint64_t account_sealed(uint64_t fields)
{
    uint64_t spread = ~(fields << (64 - TAG_BITS)) * UINT64_C(0x9e3779b97f4a7c15);
    return fields | spread >> TAG_BITS << TAG_BITS;
}

static inline uint64_t account_tag(enum mem_level level, enum component component, uint32_t site)
{
    uint64_t fields =
        (uint64_t)level << TAG_LEVEL_AT | (uint64_t)component << TAG_COMPONENT_AT | site;
    return account_sealed(fields);
}

void account_set_level(enum mem_level level);

/* Above, calloc: it gets fresh pages from the kernel and need not touch them. Below, malloc and
 * memset: glibc's calloc does not use the per-thread cache. */
#define CALLOC_FROM_BYTES 65536

/* The account, made at the first call; NULL when there is no memory for it. */
struct account *account_get(void);

/* This thread's own stripe; account_no_stripe before its first count and while it ends. Initial-exec:
 * reading it takes no call and never allocates, also in a library that was opened late. Blocks below
 * the stripe's plain_below are made and freed without further questions: none (0) at level detail
 * and where there is no stripe, so that one comparison answers both. */
extern __thread struct stripe *account_own_stripe
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern struct stripe account_no_stripe __attribute__((visibility("hidden"))); /* never written */
void account_look_at_peak(enum component component);

/* One block or map more; mapped_bytes is 0 or reserved_bytes. True: the peak is to be updated. */
static inline __attribute__((always_inline)) bool
account_count_more(struct stripe *stripe, enum component component, int64_t requested_bytes,
                   int64_t reserved_bytes, int64_t mapped_bytes)
{
    struct tally *tally = &stripe->tally[component];
    account_add(&tally->requested_bytes, requested_bytes);
    if (mapped_bytes != 0)
        account_add(&tally->mapped_bytes, mapped_bytes);
    account_add(&tally->allocations, 1);
    int64_t live_bytes =
        atomic_load_explicit(&tally->reserved_bytes, memory_order_relaxed) + reserved_bytes;
    atomic_store_explicit(&tally->reserved_bytes, live_bytes, memory_order_release);
    account_add(&stripe->all_reserved_bytes, reserved_bytes);
    return account_is_above(live_bytes, &tally->peak_look);
}

/* One less. */
static inline __attribute__((always_inline)) void
account_count_less(struct stripe *stripe, enum component component, int64_t requested_bytes,
                   int64_t reserved_bytes, int64_t mapped_bytes)
{
    struct tally *tally = &stripe->tally[component];
    account_subtract(&tally->requested_bytes, requested_bytes);
    if (mapped_bytes != 0)
        account_subtract(&tally->mapped_bytes, mapped_bytes);
    account_add(&tally->frees, 1);
    account_subtract(&tally->reserved_bytes, reserved_bytes);
    account_subtract(&stripe->all_reserved_bytes, reserved_bytes);
}

/* One that was counted and then could not be had. */
static inline void account_count_none(struct stripe *stripe, enum component component,
                                      int64_t requested_bytes, int64_t reserved_bytes)
{
    struct tally *tally = &stripe->tally[component];
    account_count_less(stripe, component, requested_bytes, reserved_bytes, 0);
    account_subtract(&tally->frees, 1);
    account_subtract(&tally->allocations, 1);
}

/* More (sign 1) or less (-1). */
static inline __attribute__((always_inline)) void
account_count_in(struct stripe *stripe, enum component component, int sign, int64_t requested_bytes,
                 int64_t reserved_bytes, int64_t mapped_bytes)
{
    if (sign < 0)
        account_count_less(stripe, component, requested_bytes, reserved_bytes, mapped_bytes);
    else if (account_count_more(stripe, component, requested_bytes, reserved_bytes, mapped_bytes))
        account_look_at_peak(component);
}

/* The same for a thread without a stripe: takes its own or borrows one. False: there is no account,
 * nothing was counted. */
bool account_count_first(enum component component, int sign, int64_t requested_bytes,
                         int64_t reserved_bytes, int64_t mapped_bytes);

static inline __attribute__((always_inline)) bool account_count(enum component component, int sign,
                                                                int64_t requested_bytes,
                                                                int64_t reserved_bytes,
                                                                int64_t mapped_bytes)
{
    struct stripe *stripe = account_own_stripe;
    if (__builtin_expect(stripe == &account_no_stripe, 0))
        return account_count_first(component, sign, requested_bytes, reserved_bytes, mapped_bytes);
    account_count_in(stripe, component, sign, requested_bytes, reserved_bytes, mapped_bytes);
    return true;
}

/* What all stripes say of one component; false when a stripe could not be read whole (a forked
 * child whose other threads vanished inside). */
struct tally_sum {
    int64_t requested_bytes, reserved_bytes, mapped_bytes, allocations, frees;
};
bool account_sum(struct tally_sum sum[COMPONENT_COUNT], int64_t *all_reserved_bytes);

/* Takes live bytes as seen now into the peaks. */
void account_raise_peak(_Atomic int64_t *peak, int64_t bytes);

/*
 * maps: the account's list of mapped memory, so that a snapshot can ask the kernel what of it is
 * resident. Up to MAPS_LISTED maps, claimed without a lock; one that finds no room counts as
 * resident whole.
 *
 * Internal to agent/mem. Any thread, never in a signal handler.
 */

/* mem_map, with the site already known (SITE_NONE: none). */
void *maps_new(enum component component, size_t size, uint32_t site);

/* Resident bytes of the listed maps of each component, and all bytes of those not listed. */
void maps_resident(int64_t resident_bytes[COMPONENT_COUNT]);

/*
 * site_table: who asked for the memory, at level detail.
 *
 * A site is a component and up to four return addresses. The table is open addressing in one map,
 * made by mem_set_level: SITES rows of 80 bytes. A row is claimed by compare-and-swap of its hash
 * and never given up; the 64-bit hash is the identity, so no thread waits for a row to be filled.
 * Row 0 takes what finds no room: nothing is lost, it only has no address. A thread with a stripe
 * counts in tallies of its own (64 KB of address space, of which a page or two are touched); the
 * others, and where there is no memory for that, in the row.
 *
 * Internal to agent/mem. Any thread, never in a signal handler.
 */
#define SITES              4096
#define SITES_BYTES        ((size_t)SITES * 80)
#define SITE_FRAMES        4
#define SITE_TALLIES_BYTES (SITES * sizeof(struct site_tally))
/* The block was made below level detail. Its low half is what the size of a small block is xor'ed to. */
#define SITE_NONE          UINT32_C(0xffff0000)

/* map: SITES_BYTES of zeroed memory, the table's from now on; NULL: there is none, and nobody has a
 * site. A second one is given back. */
bool sites_are_open(void);
void sites_open(void *map);
/* called_from: where the function in mem.h that was called returns to. frame: of that function, or
 * of one it has called, whether it keeps a frame itself or not. Callers are walked by frame pointer
 * as long as they lie in this library. */
uint32_t site_of(enum component component, void *called_from, void *const *frame);
/* Nothing for SITE_NONE. */
void site_count_rarely(uint32_t site, int64_t bytes, int64_t blocks);
static inline void site_count(uint32_t site, int64_t bytes, int64_t blocks)
{
    struct site_tally *own = atomic_load_explicit(&account_own_stripe->sites, memory_order_relaxed);
    if (own == NULL || site >= SITES) {
        site_count_rarely(site, bytes, blocks);
        return;
    }
    account_add(&own[site].bytes, bytes);
    account_add(&own[site].blocks, blocks);
}
/* Stores the present state, which mem_diff_sites subtracts. */
void site_baseline(void);
