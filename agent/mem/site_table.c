#include "agent/mem/account.h"
#include "floor/base/fold_hash.h"

#include <stdatomic.h>
#include <stdint.h>

struct site {
    _Atomic uint64_t hash; /* 0: free */
    _Atomic(void *) frame[SITE_FRAMES];
    _Atomic int64_t bytes; /* live, as all threads have counted them */
    _Atomic int64_t blocks;
    _Atomic int64_t base_bytes; /* at the baseline */
    _Atomic int64_t base_blocks;
    _Atomic uint32_t component;
    _Atomic uint32_t filled; /* frame and component can be read */
};
_Static_assert(sizeof(struct site) * SITES == SITES_BYTES, "as said in account.h");
_Static_assert((SITES & (SITES - 1)) == 0, "rows are chosen by a mask");

#define SITE_OVERFLOW 0
#define PROBES        64 /* a nearly full table must not make each allocation walk all of it */

static _Atomic(struct site *) the_sites;

bool sites_are_open(void)
{
    return atomic_load_explicit(&the_sites, memory_order_acquire) != NULL;
}

void sites_open(void *map)
{
    struct site *none = NULL;
    if (map != NULL && !atomic_compare_exchange_strong_explicit(
                           &the_sites, &none, map, memory_order_acq_rel, memory_order_acquire))
        mem_unmap(COMPONENT_ACCOUNTING, map, SITES_BYTES);
}

/* Where this library's code lies; what calls it from outside keeps no frame pointer. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
/* The end of the main thread's stack, kept by ld.so. */
extern void *__libc_stack_end;

static bool in_this_library(const void *pc)
{
    return (uintptr_t)pc >= (uintptr_t)__ehdr_start && (uintptr_t)pc < (uintptr_t)etext;
}

/* Memory between a frame and here is stack and can be read: a thread's control block sits on top
 * of its stack; the main thread's is elsewhere, below. */
static uintptr_t stack_limit(void *const *frame)
{
    uintptr_t control_block = (uintptr_t)__builtin_thread_pointer();
    return control_block > (uintptr_t)frame ? control_block : (uintptr_t)__libc_stack_end;
}

/* A frame begins with the caller's frame pointer and the return address (x86-64 and aarch64). */
static void walk(void *called_from, void *const *frame, void *frames[SITE_FRAMES])
{
    uintptr_t limit = stack_limit(frame);
    int count = 0;
    frames[count++] = called_from;
    while (count < SITE_FRAMES && in_this_library(frames[count - 1])) {
        void *const *caller = (void *const *)frame[0];
        if (caller <= frame || (uintptr_t)caller % sizeof(void *) != 0 ||
            (uintptr_t)caller >= limit - 2 * sizeof(void *))
            break;
        frame = caller;
        if (frame[1] != called_from) /* else the frame of the function in mem.h */
            frames[count++] = frame[1];
    }
}

static void fill(struct site *site, enum component component, void *const frames[SITE_FRAMES])
{
    for (int i = 0; i < SITE_FRAMES; i++)
        atomic_store_explicit(&site->frame[i], frames[i], memory_order_relaxed);
    atomic_store_explicit(&site->component, component, memory_order_relaxed);
    atomic_store_explicit(&site->filled, 1, memory_order_release);
}

/* A mask: a division costs more than the rest of the search. */
static uint32_t row_at(uint64_t hash, uint32_t probe)
{
    uint32_t row = (uint32_t)((hash + probe) & (SITES - 1));
    return row != SITE_OVERFLOW ? row : 1;
}

/* Two multiplications: this is what a block costs at level detail. Never 0, which is a free row. */
static uint64_t hash_of(enum component component, void *const frames[SITE_FRAMES])
{
    uint64_t hash = fold_multiply((uintptr_t)frames[0] ^ UINT64_C(0x9E3779B97F4A7C15),
                                  (uintptr_t)frames[1] ^ UINT64_C(0xD6E8FEB86659FD93) ^ component);
    hash = fold_multiply((uintptr_t)frames[2] ^ UINT64_C(0xA0761D6478BD642F),
                         (uintptr_t)frames[3] ^ UINT64_C(0xE7037ED1A0B428DB) ^ hash);
    return hash != 0 ? hash : 1;
}

uint32_t site_of(enum component component, void *called_from, void *const *frame)
{
    struct site *sites = atomic_load_explicit(&the_sites, memory_order_acquire);
    if (sites == NULL)
        return SITE_NONE;
    void *frames[SITE_FRAMES] = {NULL};
    walk(called_from, frame, frames);
    uint64_t hash = hash_of(component, frames);
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        uint32_t row = row_at(hash, probe);
        uint64_t there = atomic_load_explicit(&sites[row].hash, memory_order_relaxed);
        if (there == 0 &&
            atomic_compare_exchange_strong_explicit(&sites[row].hash, &there, hash,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            fill(&sites[row], component, frames);
            return row;
        }
        if (there == hash)
            return row;
    }
    return SITE_OVERFLOW;
}

void site_count(uint32_t site, int64_t bytes, int64_t blocks)
{
    struct site *sites = atomic_load_explicit(&the_sites, memory_order_acquire);
    if (site >= SITES || sites == NULL)
        return;
    atomic_fetch_add_explicit(&sites[site].bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&sites[site].blocks, blocks, memory_order_relaxed);
}

/* Into out, which holds count < max sites or max, most bytes first. */
static int insert(struct mem_site *out, int count, int max, const struct mem_site *site)
{
    int at = count < max ? count : max - 1;
    if (count == max && out[at].bytes >= site->bytes)
        return count;
    for (; at > 0 && out[at - 1].bytes < site->bytes; at--)
        out[at] = out[at - 1];
    out[at] = *site;
    return count < max ? count + 1 : max;
}

static int collect(struct mem_site *out, int max, bool since_baseline)
{
    struct site *sites = atomic_load_explicit(&the_sites, memory_order_acquire);
    int count = 0;
    for (int row = 0; sites != NULL && max > 0 && row < SITES; row++) {
        struct site *from = &sites[row];
        if (row != SITE_OVERFLOW && !atomic_load_explicit(&from->filled, memory_order_acquire))
            continue;
        struct mem_site site = {
            .component =
                (enum component)atomic_load_explicit(&from->component, memory_order_relaxed),
            .bytes = atomic_load_explicit(&from->bytes, memory_order_relaxed),
            .blocks = atomic_load_explicit(&from->blocks, memory_order_relaxed),
        };
        for (int i = 0; i < SITE_FRAMES; i++)
            site.frame[i] = atomic_load_explicit(&from->frame[i], memory_order_relaxed);
        if (row == SITE_OVERFLOW)
            site.component = COMPONENT_COUNT;
        if (since_baseline) {
            site.bytes -= atomic_load_explicit(&from->base_bytes, memory_order_relaxed);
            site.blocks -= atomic_load_explicit(&from->base_blocks, memory_order_relaxed);
        }
        bool counts = since_baseline ? site.bytes > 0 || site.blocks > 0 : site.blocks != 0;
        if (counts)
            count = insert(out, count, max, &site);
    }
    return count;
}

int mem_sites(struct mem_site *out, int max)
{
    return collect(out, max, false);
}

int mem_diff_sites(struct mem_site *out, int max)
{
    return collect(out, max, true);
}

void site_baseline(void)
{
    struct site *sites = atomic_load_explicit(&the_sites, memory_order_acquire);
    for (int row = 0; sites != NULL && row < SITES; row++) {
        struct site *site = &sites[row];
        atomic_store_explicit(&site->base_bytes,
                              atomic_load_explicit(&site->bytes, memory_order_relaxed),
                              memory_order_relaxed);
        atomic_store_explicit(&site->base_blocks,
                              atomic_load_explicit(&site->blocks, memory_order_relaxed),
                              memory_order_relaxed);
    }
}
