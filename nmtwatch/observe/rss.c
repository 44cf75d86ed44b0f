#include "nmtwatch/observe/rss.h"

#include "agent/hotspot/layout.h"
#include "agent/hotspot/load.h"
#include "agent/mem/fold_hash.h"
#include "analyzers/native/rss_account.h"
#include "nmtwatch/process/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMAPS_MAX    (INT64_C(256) << 20)
#define TOUCHES_MAX  (1u << 20)
#define STACKS_SLOTS (1u << 16)
#define STACKS_MAX   49152
#define FRAMES_MAX   (4u << 20)
#define RANGES_MAX   8192

/* Whose memory it is, by who touched it: of malloc and other anonymous memory. */
enum owner { OWNER_JVM, OWNER_OTHER, OWNERS };

struct mapping {
    uint64_t low, high;
    int64_t bytes; /* anonymous and resident, swapped pages included */
    enum rss_kind kind;
    double weight; /* of its touches */
    int64_t growth;
};

struct mappings {
    struct mapping *at;
    size_t count, room;
};

struct touched_stack {
    uint64_t hash;
    uint32_t first, depth; /* in frames */
    enum owner owner;
};

struct touch {
    uint64_t address;
    uint32_t stack;
    float faults;
};

struct rss_watch {
    struct mappings before;
    struct rss_range ranges[RANGES_MAX];
    int range_count;
    struct touch *touch;
    uint32_t touches;
    struct touched_stack *stack; /* hashed; depth 0: free */
    uint32_t stacks;
    struct call_frame *frames;
    uint32_t frame_count;
    double dropped; /* faults that found no room here */
};

/* --- mappings --------------------------------------------------------------------------------- */

static char *read_smaps(const struct target *target, size_t *length)
{
    char path[48], *text = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)target->pid);
    FILE *file = fopen(path, "re");
    *length = 0;
    while (file != NULL) {
        if (room - *length < 65536) {
            char *more = room < (size_t)SMAPS_MAX ? realloc(text, room = room * 2 + 262144) : NULL;
            if (more == NULL)
                break;
            text = more;
        }
        size_t got = fread(text + *length, 1, room - *length, file);
        *length += got;
        if (got == 0)
            break;
    }
    if (file != NULL)
        fclose(file);
    return text;
}

static bool read_mappings(struct rss_watch *watch, const struct target *target,
                          struct mappings *mappings)
{
    struct rss_account account;
    struct smaps smaps;
    struct smaps_mapping mapping;
    size_t length;
    char *text = read_smaps(target, &length);
    if (text == NULL || length == 0) {
        free(text);
        return false;
    }
    rss_account_begin(&account, watch->ranges, watch->range_count);
    smaps_begin(&smaps, (struct span){text, length});
    bool good = true;
    while (good && smaps_next(&smaps, &mapping)) {
        if (mappings->count == mappings->room) {
            void *more = realloc(mappings->at, (mappings->room * 2 + 1024) * sizeof *mappings->at);
            good = more != NULL;
            if (!good)
                break;
            mappings->at = more;
            mappings->room = mappings->room * 2 + 1024;
        }
        mappings->at[mappings->count++] = (struct mapping){
            .low = mapping.map.start_address,
            .high = mapping.map.end_address,
            .bytes = mapping.anonymous_bytes + mapping.swap_bytes,
            .kind = rss_account_kind(&account, &mapping.map),
        };
    }
    free(text);
    return good && mappings->count > 0;
}

static void add_range(struct rss_watch *watch, uint64_t low, uint64_t high,
                      enum nmt_category category)
{
    if (low != 0 && low < high && watch->range_count < RANGES_MAX)
        watch->ranges[watch->range_count++] = (struct rss_range){low, high, category};
}

static void add_stack_range(void *context, uintptr_t low, uintptr_t high)
{
    add_range(context, low, high, NMT_THREAD);
}

/* What the JVM's own structures tell: heap, code cache, stacks of Java's threads. */
static void read_ranges(struct rss_watch *watch)
{
    uintptr_t heap = layout.collected_heap != 0 ? load_pointer(layout.collected_heap) : 0;
    watch->range_count = 0;
    if (heap != 0 && layout.heap_reserved >= 0 && layout.region_start >= 0 &&
        layout.region_words >= 0) {
        uintptr_t region = heap + (uintptr_t)layout.heap_reserved;
        uintptr_t low = load_pointer(region + (uintptr_t)layout.region_start);
        add_range(watch, low,
                  low + load_pointer(region + (uintptr_t)layout.region_words) * WORD_BYTES,
                  NMT_JAVA_HEAP);
    }
    add_range(watch, load_pointer(layout.code_cache_low), load_pointer(layout.code_cache_high),
              NMT_CODE);
    stacks_each_thread(add_stack_range, watch);
    watch->range_count = rss_ranges_sort(watch->ranges, watch->range_count);
}

struct rss_watch *rss_open(const struct target *target, char *error, size_t error_size)
{
    struct rss_watch *watch = calloc(1, sizeof *watch);
    if (watch != NULL) {
        watch->touch = calloc(TOUCHES_MAX, sizeof *watch->touch);
        watch->stack = calloc(STACKS_SLOTS, sizeof *watch->stack);
        watch->frames = malloc(FRAMES_MAX * sizeof *watch->frames);
    }
    if (watch != NULL && watch->touch != NULL && watch->stack != NULL && watch->frames != NULL) {
        read_ranges(watch);
        if (read_mappings(watch, target, &watch->before))
            return watch;
        snprintf(error, error_size, "/proc/%d/smaps: %s", (int)target->pid, strerror(errno));
    } else {
        snprintf(error, error_size, "out of memory");
    }
    rss_close(watch, NULL, NULL, NULL, 0);
    return NULL;
}

/* --- touches ---------------------------------------------------------------------------------- */

static bool in_library(const char *name, const char *library)
{
    const char *bracket = strrchr(name, '[');
    size_t length = strlen(library);
    return bracket != NULL && strncmp(bracket + 1, library, length) == 0 &&
           bracket[1 + length] == ']';
}

/* The first that is not the C library: libjvm's own memory is NMT's, that of anybody else is not. */
static enum owner owner_of(const struct stack_frame *frames, int depth)
{
    for (int i = 0; i < depth; i++) {
        if (in_library(frames[i].name, "libc") || in_library(frames[i].name, "ld-linux-x86-64") ||
            in_library(frames[i].name, "libpthread-2") || frames[i].name[0] == '[')
            continue;
        return frames[i].java || in_library(frames[i].name, "libjvm") ? OWNER_JVM : OWNER_OTHER;
    }
    return OWNER_OTHER;
}

/* UINT32_MAX: there is no room. Names are kept once each, so that their addresses distinguish them. */
static uint32_t keep_stack(struct rss_watch *watch, const struct stack_frame *frames, int depth)
{
    uint64_t hash = (uint64_t)depth;
    for (int i = 0; i < depth; i++)
        hash = fold_word(hash ^ (uintptr_t)frames[i].name);
    uint32_t slot = (uint32_t)(hash >> 20) & (STACKS_SLOTS - 1);
    for (; watch->stack[slot].depth != 0; slot = (slot + 1) & (STACKS_SLOTS - 1)) {
        if (watch->stack[slot].hash == hash && watch->stack[slot].depth == (uint32_t)depth)
            return slot;
    }
    if (watch->stacks == STACKS_MAX || FRAMES_MAX - watch->frame_count < (uint32_t)depth ||
        depth == 0)
        return UINT32_MAX;
    watch->stack[slot] = (struct touched_stack){
        .hash = hash,
        .first = watch->frame_count,
        .depth = (uint32_t)depth,
        .owner = owner_of(frames, depth),
    };
    for (int i = 0; i < depth; i++)
        watch->frames[watch->frame_count++] = (struct call_frame){
            frames[i].name, frames[i].java ? CALL_FRAME_JAVA : CALL_FRAME_NATIVE};
    watch->stacks++;
    return slot;
}

void rss_touch(struct rss_watch *watch, uint64_t address, uint64_t faults,
               const struct stack_frame *frames, int depth)
{
    uint32_t stack = watch->touches < TOUCHES_MAX ? keep_stack(watch, frames, depth) : UINT32_MAX;
    if (stack == UINT32_MAX) {
        watch->dropped += (double)faults;
        return;
    }
    watch->touch[watch->touches++] = (struct touch){address, stack, (float)faults};
}

/* --- growth ----------------------------------------------------------------------------------- */

static struct mapping *mapping_of(const struct mappings *mappings, uint64_t address)
{
    size_t low = 0, high = mappings->count; /* the first that begins beyond */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mappings->at[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < mappings->at[low - 1].high ? &mappings->at[low - 1] : NULL;
}

/* What a mapping had before, in proportion to what of the old ones it covers; the rest of those has gone and
 * is negative growth of its kind. */
static void compare(const struct mappings *before, const struct mappings *after,
                    int64_t gone[RSS_KIND_COUNT])
{
    size_t at = 0;
    for (size_t i = 0; i < after->count; i++)
        after->at[i].growth = after->at[i].bytes;
    for (size_t i = 0; i < before->count; i++) {
        const struct mapping *old = &before->at[i];
        int64_t rest = old->bytes;
        while (at < after->count && after->at[at].high <= old->low)
            at++;
        for (size_t j = at; j < after->count && after->at[j].low < old->high; j++) {
            struct mapping *new = &after->at[j];
            uint64_t low = new->low > old->low ? new->low : old->low;
            uint64_t high = new->high < old->high ? new->high : old->high;
            int64_t part = (int64_t)((double)old->bytes * (double)(high - low) /
                                     (double)(old->high - old->low));
            if (high == old->high)
                part = rest;
            new->growth -= part;
            rest -= part;
        }
        gone[old->kind] -= rest;
    }
}

static const char *row_name(enum rss_kind kind, enum owner owner)
{
    bool jvm = owner == OWNER_JVM;
    switch (kind) {
    case RSS_JAVA_HEAP:
        return "Java heap";
    case RSS_NMT_MAPPED:
        return "code cache";
    case RSS_THREAD_STACKS:
        return "thread stacks";
    case RSS_MALLOC_MAIN:
    case RSS_MALLOC_ARENAS:
        return jvm ? "malloc of the JVM" : "malloc outside of NMT";
    case RSS_ANONYMOUS:
        return jvm ? "mappings of the JVM (Metaspace, GC, direct buffers, large mallocs)"
                   : "mappings outside of NMT";
    case RSS_LIBRARIES:
        return "data of libraries";
    default:
        return "other mappings";
    }
}

static void add_row(struct observe_report *report, const char *name, int64_t bytes)
{
    int row = 0;
    while (row < report->growth_count && strcmp(report->growth[row].name, name) != 0)
        row++;
    if (row == OBSERVE_GROWTH_MAX)
        return;
    if (row == report->growth_count)
        report->growth[report->growth_count++].name = name;
    report->growth[row].bytes += bytes;
    report->count += bytes;
}

static int by_bytes(const void *a, const void *b)
{
    const struct observe_growth *left = a, *right = b;
    return (left->bytes < right->bytes) - (left->bytes > right->bytes);
}

/* Each stack's share of what its mapping grew by. */
static void share_out(struct rss_watch *watch, const struct mappings *after,
                      struct observe_report *report)
{
    struct call_frame frames[STACK_FRAMES_MAX + 1];
    for (uint32_t i = 0; i < watch->touches; i++) {
        struct mapping *mapping = mapping_of(after, watch->touch[i].address);
        if (mapping != NULL)
            mapping->weight += (double)watch->touch[i].faults;
    }
    for (uint32_t i = 0; i < watch->touches; i++) {
        const struct touched_stack *stack = &watch->stack[watch->touch[i].stack];
        const struct mapping *mapping = mapping_of(after, watch->touch[i].address);
        if (mapping == NULL || mapping->growth <= 0)
            continue;
        int64_t bytes =
            (int64_t)((double)mapping->growth * (double)watch->touch[i].faults / mapping->weight);
        const char *row = row_name(mapping->kind, stack->owner);
        uint32_t depth = stack->depth < STACK_FRAMES_MAX ? stack->depth : STACK_FRAMES_MAX;
        memcpy(frames, watch->frames + stack->first, depth * sizeof *frames);
        frames[depth] = (struct call_frame){row, CALL_FRAME_STATE};
        call_tree_add(report->tree, frames, (int)depth + 1, bytes);
        add_row(report, row, bytes);
    }
}

static void add_rest(const struct mappings *after, const int64_t gone[RSS_KIND_COUNT],
                     struct observe_report *report)
{
    int64_t total = 0;
    for (size_t i = 0; i < after->count; i++) {
        const struct mapping *mapping = &after->at[i];
        total += mapping->growth;
        if (mapping->growth < 0)
            add_row(report, "given back", mapping->growth);
    }
    for (int kind = 0; kind < RSS_KIND_COUNT; kind++) {
        total += gone[kind];
        if (gone[kind] != 0)
            add_row(report, "given back", gone[kind]);
    }
    /* What nobody was seen to touch, and what rounding left. */
    if (total - report->count != 0)
        add_row(report, "not seen to be touched", total - report->count);
}

bool rss_close(struct rss_watch *watch, const struct target *target, struct observe_report *report,
               char *error, size_t error_size)
{
    struct mappings after = {0};
    int64_t gone[RSS_KIND_COUNT] = {0};
    bool good = watch != NULL && target != NULL;
    if (good) {
        read_ranges(watch);
        good = read_mappings(watch, target, &after);
        if (!good)
            snprintf(error, error_size, "the process has ended: its mappings cannot be read again");
    }
    if (good) {
        compare(&watch->before, &after, gone);
        report->count = 0;
        share_out(watch, &after, report);
        add_rest(&after, gone, report);
        qsort(report->growth, (size_t)report->growth_count, sizeof *report->growth, by_bytes);
    }
    if (watch != NULL) {
        free(watch->before.at);
        free(watch->touch);
        free(watch->stack);
        free(watch->frames);
    }
    free(watch);
    free(after.at);
    return good;
}
