/*
 * mem: every byte the agent allocates, and who it belongs to.
 *
 * The problem: a profiler that costs the host tens of megabytes and cannot say where they are. So
 * only this module of agent/ calls malloc, mmap or free, each call names its component
 * (components.def), and the sum of the components is the total, always.
 *
 * As Native Memory Tracking does it: what was malloc'ed carries a header in front of the user's data,
 * and a canary after it, so that freeing needs no lookup and damage is found:
 *
 *    0        4     5     6        8                 16                      16+size
 *    +--------+-----+-----+--------+-----------------+------ user data ------+--------+
 *    | site   |comp.|  0  | canary | size (bytes)    | 16-byte aligned       | canary |
 *    +--------+-----+-----+--------+-----------------+-----------------------+--------+
 *
 * The canary in front depends on all the rest of the header. Counters are atomic (account.h). At level
 * `detail` the call stack (four frames) of each allocation is kept in a lock-free site table.
 *
 * Arenas are mmap'ed pieces for memory that is never freed one by one: reserved counts from the
 * map, resident is asked of the kernel (mincore) at a snapshot.
 *
 * Calling context: mem_alloc/mem_free/mem_map: any thread, never in a signal handler.
 * arena_alloc: signal-safe and lock-free as long as the arena has room (see arena.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum component {
#define COMPONENT(id, name, documented, holds) COMPONENT_##id,
#include "agent/mem/components.def"
    COMPONENT_COUNT,
};

const char *component_name(enum component component);         /* "several" for COMPONENT_COUNT */
int64_t component_documented_bytes(enum component component); /* -1: no fixed figure */

/* off: sizes are still counted (freeing needs the header); summary: the same, with peaks;
 * detail: call sites too. Set once, before the first allocation. */
enum mem_level { MEM_OFF, MEM_SUMMARY, MEM_DETAIL };
void mem_set_level(enum mem_level level);
enum mem_level mem_get_level(void);

/* Zeroed; 16-byte aligned. NULL when there is none: the caller degrades, counts and reports it. */
void *mem_alloc(enum component component, size_t size);
/* The same, not zeroed: for what is written at once, whole. */
void *mem_alloc_raw(enum component component, size_t size);
/* As realloc; on NULL the old block is untouched. New bytes are zero. */
void *mem_resize(enum component component, void *block, size_t size);
/* An array that doubles as it grows. */
struct mem_array {
    enum component component;
    size_t element_bytes;
    size_t first, most; /* elements; most 0: no bound */
};
/* Room for so many elements; array: the address of the pointer to the first one. False: beyond the
 * bound, or out of memory; all is as before. New elements are zero. */
bool mem_grow(const struct mem_array *kind, void *array, size_t *capacity, size_t wanted);
char *mem_copy_text(enum component component, const char *text, size_t length);
/* NULL is fine. A damaged canary is counted (mem_damaged) and the block is left alone. */
void mem_free(void *block);
int64_t mem_damaged(void);

/* Page-aligned anonymous memory, not touched until used. NULL when there is none. */
void *mem_map(enum component component, size_t size);
void mem_unmap(enum component component, void *block, size_t size);
/* Every map of the account, to know its pages from others in /proc/self/smaps. Not in a signal
 * handler. */
typedef void mem_map_visit_fn(void *context, enum component component, const void *address,
                              size_t size, int64_t resident_bytes);
void mem_maps_each(mem_map_visit_fn *visit, void *context);

/* Pages of a loaded file that are in memory because of the agent: a snapshot counts what of them is
 * resident (file_pages.h). Any thread, not in a signal handler. False when the list is full. */
bool mem_file_add(enum component component, const void *address, size_t size);
void mem_file_forget(const void *address);

struct component_usage {
    int64_t requested_bytes; /* live, as asked for */
    int64_t reserved_bytes;  /* live, with headers, rounding and maps */
    int64_t resident_bytes; /* of reserved: malloc'ed blocks count whole, maps by what is present */
    int64_t peak_bytes;     /* of reserved */
    int64_t allocations;
    int64_t frees;
};
struct mem_snapshot {
    struct component_usage component[COMPONENT_COUNT];
    struct component_usage total; /* the sum, by construction */
    int64_t peak_total_bytes; /* the most that was reserved at once; total.peak_bytes is the sum of
                                 peaks that need not have met */
};
/* Not in a signal handler. */
void mem_snapshot(struct mem_snapshot *snapshot);

/* Call sites at level detail: address of up to four frames, component, live bytes and blocks.
 * Allocations without a row of the table have no frames and component COMPONENT_COUNT. */
struct mem_site {
    void *frame[4];
    enum component component;
    int64_t bytes;
    int64_t blocks;
};
int mem_sites(struct mem_site *out, int max); /* most bytes first */
/* Remembers the sites and components of now; mem_diff_sites gives what grew since. One thread at a
 * time. */
void mem_baseline(void);
int mem_diff_sites(struct mem_site *out, int max);
void mem_diff(struct mem_snapshot *growth);

/*
 * clock: the time that everything in the agent is measured in, in ns since some moment. It does not
 * jump. jfr_clock_ticks makes a recording's ticks of it. Any thread, signal handlers included.
 */
static inline int64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
