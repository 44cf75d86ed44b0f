/*
 * account: the counters behind mem.h.
 *
 * One tally for each component, on a line of the cache of its own, counted with relaxed atomic additions as
 * Native Memory Tracking does it. Each counter is exact at any moment; the counters of one component are read
 * one after the other, so that a reader may see an allocation in one of them and not yet in the next.
 *
 * Internal to agent/mem. Any thread, never in a signal handler.
 */
#pragma once

#include "agent/mem/mem.h"

#include <stdatomic.h>

#define MAPS_LISTED  1024
#define FILES_LISTED 64 /* a library has four segments */

struct tally {
    _Alignas(64) _Atomic int64_t requested_bytes;
    _Atomic int64_t reserved_bytes; /* of malloc'ed blocks and of maps */
    _Atomic int64_t mapped_bytes;   /* the part of reserved that is maps */
    _Atomic int64_t allocations;
    _Atomic int64_t frees;
    _Atomic int64_t peak_bytes; /* of reserved */
};
_Static_assert(sizeof(struct tally) == 64, "one line of the cache");

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

/* Zeroed data of the library, so part of the component agent_code. */
struct account {
    struct tally tally[COMPONENT_COUNT];
    _Atomic int64_t reserved_bytes; /* of all components, for the peak of the total */
    _Atomic int64_t peak_bytes;
    _Atomic int64_t damaged;
    _Atomic int64_t unlisted_bytes[COMPONENT_COUNT]; /* maps that found no room in map[] */
    _Atomic uint32_t maps_used;
    _Atomic int64_t files_added[COMPONENT_COUNT];
    _Atomic int64_t files_forgotten[COMPONENT_COUNT];
    _Atomic int64_t file_peak_bytes[COMPONENT_COUNT];
    struct listed_file file[FILES_LISTED];
    struct listed_map map[MAPS_LISTED];
    struct mem_snapshot baseline;
};
extern struct account account __attribute__((visibility("hidden")));

/* One block or map more. mapped_bytes is 0 or reserved_bytes. */
void account_count_more(enum component component, int64_t requested_bytes, int64_t reserved_bytes,
                        int64_t mapped_bytes);
/* One less. */
void account_count_less(enum component component, int64_t requested_bytes, int64_t reserved_bytes,
                        int64_t mapped_bytes);
/* Takes live bytes as seen now into a peak. */
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
 * Row 0 takes what finds no room: nothing is lost, it only has no address.
 *
 * Internal to agent/mem. Any thread, never in a signal handler.
 */
#define SITES       4096
#define SITES_BYTES ((size_t)SITES * 80)
#define SITE_FRAMES 4
#define SITE_NONE   UINT32_MAX /* the block was made below level detail */

/* map: SITES_BYTES of zeroed memory, the table's from now on; NULL: there is none, and nobody has a
 * site. A second one is given back. */
bool sites_are_open(void);
void sites_open(void *map);
/* called_from: where the function in mem.h that was called returns to. frame: of that function, or
 * of one it has called. Callers are walked by frame pointer as long as they lie in this library. */
uint32_t site_of(enum component component, void *called_from, void *const *frame);
/* Nothing for SITE_NONE. */
void site_count(uint32_t site, int64_t bytes, int64_t blocks);
/* Stores the present state, which mem_diff_sites subtracts. */
void site_baseline(void);
