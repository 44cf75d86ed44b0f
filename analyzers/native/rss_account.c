#include "analyzers/native/rss_account.h"

#include <stdlib.h>

/* glibc, malloc/arena.c: HEAP_MAX_SIZE on 64-bit machines; an arena's heap begins at a multiple. */
#define ARENA_HEAP_BYTES (UINT64_C(64) << 20)
/* A thread's stack lies behind its guard: a page of glibc's, or the zones that HotSpot closes. */
#define GUARD_MAX_BYTES  (UINT64_C(128) << 10)
#define STACK_MAX_BYTES  (UINT64_C(16) << 20)

const struct rss_kind_row rss_kinds[RSS_KIND_COUNT] = {
#define RSS_KIND(id, key, what) [RSS_##id] = {key, what},
#include "analyzers/native/rss_kinds.def"
};

static int by_low(const void *a, const void *b)
{
    const struct rss_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

int rss_ranges_sort(struct rss_range *ranges, int count)
{
    if (count == 0)
        return 0;
    qsort(ranges, (size_t)count, sizeof *ranges, by_low);
    int kept = 0;
    for (int i = 1; i < count; i++) {
        if (ranges[i].low < ranges[kept].high) {
            ranges[kept].high = MAX(ranges[kept].high, ranges[i].high);
        } else {
            ranges[++kept] = ranges[i];
        }
    }
    return kept + 1;
}

bool rss_heap_range(struct span heap_info, struct rss_range *heap)
{
    ptrdiff_t open;
    *heap = (struct rss_range){.low = UINT64_MAX, .category = NMT_JAVA_HEAP};
    while ((open = span_find(heap_info, SPAN_LITERAL("[0x"))) >= 0) {
        heap_info = span_skip(heap_info, (size_t)open + 1);
        uint64_t address;
        while (span_take(&heap_info, SPAN_LITERAL("0x")) && span_take_hex(&heap_info, &address)) {
            heap->low = MIN(heap->low, address);
            heap->high = MAX(heap->high, address);
            span_take(&heap_info, SPAN_LITERAL(","));
            span_take(&heap_info, SPAN_LITERAL(" "));
        }
    }
    return heap->high > heap->low;
}

void rss_account_begin(struct rss_account *account, const struct rss_range *ranges, int count)
{
    memset(account, 0, sizeof *account);
    account->ranges = ranges;
    account->range_count = ranges == NULL ? 0 : count;
}

/* The range that holds most of a mapping: the kernel joins neighbours, a range may be many
 * mappings. NULL when none holds half of it. */
static const struct rss_range *range_of(const struct rss_account *account,
                                        const struct proc_map *map)
{
    int low = 0, high = account->range_count;
    while (low < high) { /* first range that ends behind the mapping's start */
        int middle = low + (high - low) / 2;
        if (account->ranges[middle].high <= map->start_address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct rss_range *best = NULL;
    uint64_t most = (map->end_address - map->start_address) / 2;
    for (int i = low; i < account->range_count && account->ranges[i].low < map->end_address; i++) {
        const struct rss_range *range = &account->ranges[i];
        uint64_t from = range->low > map->start_address ? range->low : map->start_address;
        uint64_t to = range->high < map->end_address ? range->high : map->end_address;
        if (to - from >= most) {
            most = to - from;
            best = range;
        }
    }
    return best;
}

static bool is_library(const struct proc_map *map)
{
    return map->executable || span_ends_with(map->path, SPAN_LITERAL(".so")) ||
           span_find(map->path, SPAN_LITERAL(".so.")) >= 0;
}

enum rss_kind rss_account_kind(struct rss_account *account, const struct proc_map *map)
{
    const struct rss_range *range = range_of(account, map);
    if (range != NULL) {
        if (range->category == NMT_JAVA_HEAP)
            return RSS_JAVA_HEAP;
        bool stack = range->category == NMT_THREAD || range->category == NMT_THREAD_STACK;
        return stack ? RSS_THREAD_STACKS : RSS_NMT_MAPPED;
    }
    if (span_equals(map->path, SPAN_LITERAL("[heap]")))
        return RSS_MALLOC_MAIN;
    if (span_starts_with(map->path, SPAN_LITERAL("[stack")))
        return RSS_THREAD_STACKS;
    if (span_starts_with(map->path, SPAN_LITERAL("[anon")))
        return RSS_ANONYMOUS;
    if (map->path.len > 0 && map->path.ptr[0] == '[')
        return RSS_KERNEL;
    if (span_find(map->path, SPAN_LITERAL("memfd:java_heap")) >= 0)
        return RSS_JAVA_HEAP; /* ZGC before 21 maps it three times */
    if (map->path.len > 0) {
        if (map->shared && span_find(map->path, SPAN_LITERAL("/dev/shm/")) == 0)
            return RSS_SHARED;
        return is_library(map) ? RSS_LIBRARIES : RSS_FILES;
    }
    if (map->shared)
        return RSS_SHARED;
    uint64_t size = map->end_address - map->start_address, guard_end = account->guard_end;
    bool usable = map->readable && map->writable && !map->executable;
    account->guard_end =
        !map->readable && !map->writable && size <= GUARD_MAX_BYTES ? map->end_address : 0;
    if (map->end_address <= account->arena_end)
        return RSS_MALLOC_ARENAS; /* a second mapping of the same heap */
    /* Full heaps that are neighbours are one mapping. The Java heap may begin at such a place, too. */
    if (map->start_address % ARENA_HEAP_BYTES == 0 && usable &&
        (size <= ARENA_HEAP_BYTES || account->range_count > 0)) {
        account->arena_end = (map->end_address + ARENA_HEAP_BYTES - 1) & -ARENA_HEAP_BYTES;
        return RSS_MALLOC_ARENAS;
    }
    if (usable && guard_end == map->start_address && size <= STACK_MAX_BYTES)
        return RSS_THREAD_STACKS;
    return RSS_ANONYMOUS;
}

static void keep_largest(struct rss_account *account, const struct smaps_mapping *mapping)
{
    int at = account->largest_count;
    if (at == RSS_LARGEST_MAX) {
        if (mapping->rss_bytes <= account->largest[at - 1].rss_bytes)
            return;
        at--;
    } else {
        account->largest_count++;
    }
    for (; at > 0 && account->largest[at - 1].rss_bytes < mapping->rss_bytes; at--)
        account->largest[at] = account->largest[at - 1];
    account->largest[at].low = mapping->map.start_address;
    account->largest[at].high = mapping->map.end_address;
    account->largest[at].rss_bytes = mapping->rss_bytes;
}

/* The largest files, those of a path as one. */
static void keep_file(struct rss_account *account, enum rss_kind kind,
                      const struct smaps_mapping *mapping)
{
    struct rss_file file = {.kind = kind, .rss_bytes = mapping->rss_bytes};
    int at = 0;
    span_copy(mapping->map.path, file.path, sizeof file.path);
    while (at < account->file_count && strcmp(account->file[at].path, file.path) != 0)
        at++;
    if (at < account->file_count)
        file.rss_bytes += account->file[at].rss_bytes;
    else if (account->file_count < RSS_FILES_MAX)
        account->file_count++;
    else if (account->file[--at].rss_bytes >= file.rss_bytes)
        return;
    for (; at > 0 && account->file[at - 1].rss_bytes < file.rss_bytes; at--)
        account->file[at] = account->file[at - 1];
    account->file[at] = file;
}

enum rss_kind rss_account_add(struct rss_account *account, const struct smaps_mapping *mapping)
{
    enum rss_kind kind = rss_account_kind(account, &mapping->map);
    account->mappings++;
    account->rss_bytes += mapping->rss_bytes;
    account->swap_bytes += mapping->swap_bytes;
    account->kind[kind].mappings++;
    account->kind[kind].size_bytes +=
        (int64_t)(mapping->map.end_address - mapping->map.start_address);
    account->kind[kind].rss_bytes += mapping->rss_bytes;
    if (kind == RSS_SHARED || kind == RSS_FILES)
        keep_file(account, kind, mapping);
    if (kind == RSS_ANONYMOUS)
        keep_largest(account, mapping);
    if (kind == RSS_THREAD_STACKS && range_of(account, &mapping->map) == NULL)
        account->found_stacks_bytes += mapping->rss_bytes;
    return kind;
}

static int64_t unclaimed_bytes(const struct rss_account *account)
{
    return account->kind[RSS_MALLOC_MAIN].rss_bytes + account->kind[RSS_MALLOC_ARENAS].rss_bytes +
           account->kind[RSS_ANONYMOUS].rss_bytes + account->found_stacks_bytes;
}

static bool has_range(const struct rss_account *account, enum nmt_category category)
{
    for (int i = 0; i < account->range_count; i++) {
        if (account->ranges[i].category == category)
            return true;
    }
    return false;
}

/* Memory that malloc was given back since the peak, and may have kept. */
static int64_t freed_since_peak(const struct nmt_row *row, enum nmt_row_field now,
                                enum nmt_row_field peak)
{
    int64_t current, highest;
    return nmt_row_get(row, now, &current) && nmt_row_get(row, peak, &highest) && highest > current
               ? highest - current
               : 0;
}

void rss_account_compare(struct rss_account *account, const struct nmt_summary *summary,
                         bool exact_mappings)
{
    account->compared = true;
    account->exact_mappings = exact_mappings;
    account->nmt_malloc_bytes = account->nmt_unplaced_bytes = account->nmt_freed_bytes = 0;
    account->heap_placed = account->kind[RSS_JAVA_HEAP].mappings > 0;
    for (int i = 0; i < summary->row_count; i++) {
        const struct nmt_row *row = &summary->rows[i];
        int64_t malloc_bytes = 0, overhead = 0, committed = 0, readonly = 0;
        nmt_row_get(row, NMT_ROW_MALLOC_BYTES, &malloc_bytes);
        nmt_row_get(row, NMT_ROW_TRACKING_OVERHEAD_BYTES, &overhead);
        nmt_row_get(row, NMT_ROW_COMMITTED_BYTES, &committed);
        nmt_row_get(row, NMT_ROW_READONLY_BYTES, &readonly);
        int64_t arena = 0;
        nmt_row_get(row, NMT_ROW_ARENA_BYTES, &arena);
        account->nmt_malloc_bytes += malloc_bytes + overhead;
        /* Arenas are made of malloc'd chunks; Arena Chunk counts only those no arena holds. */
        if (row->category != NMT_ARENA_CHUNK)
            account->nmt_malloc_bytes += arena;
        account->nmt_freed_bytes +=
            freed_since_peak(row, NMT_ROW_MALLOC_BYTES, NMT_ROW_MALLOC_PEAK_BYTES) +
            freed_since_peak(row, NMT_ROW_ARENA_BYTES, NMT_ROW_ARENA_PEAK_BYTES);
        int64_t mapped = committed - malloc_bytes - overhead - arena - readonly;
        if (!exact_mappings && mapped > 0 && row->category != NMT_SHARED_CLASS_SPACE &&
            !has_range(account, row->category))
            account->nmt_unplaced_bytes += mapped;
    }
    int64_t outside =
        unclaimed_bytes(account) - account->nmt_malloc_bytes - account->nmt_unplaced_bytes;
    account->outside_nmt_bytes = outside > 0 ? outside : 0;
}

int64_t rss_growth_outside_nmt(const struct rss_account *now, const struct rss_account *before)
{
    return unclaimed_bytes(now) - unclaimed_bytes(before) -
           (now->nmt_malloc_bytes - before->nmt_malloc_bytes) -
           (now->nmt_unplaced_bytes - before->nmt_unplaced_bytes);
}
