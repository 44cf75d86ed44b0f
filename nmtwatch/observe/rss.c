#include "nmtwatch/observe/rss.h"

#include "nmtwatch/jvm/proc.h"
#include "analyzers/classes/call_site.h"
#include "analyzers/model/texts.h"
#include "nmtwatch/observe/elf_file.h"
#include "floor/base/fold_hash.h"
#include "nmtwatch/machine/machine.h"

#include <errno.h>
#include <stdlib.h>

#define SMAPS_MAX    ((size_t)256 << 20)
#define TOUCHES_MAX  (1u << 19)
#define STACKS_SLOTS (1u << 16)
#define STACKS_MAX   49152
#define FRAMES_MAX   (1u << 20)
#define BLOCK_MAX    8192 /* pages of a huge page, where they have 64 KB */
#define LOST_OVER    64   /* touches that stand for those that were lost after them */
#define STACK_BELOW  (UINT64_C(256) << 10) /* of the stack pointer: HotSpot touches ahead */
#define STACK_ABOVE  (UINT64_C(8) << 20)

/* Whose memory it is, by who touched it: of malloc and other anonymous memory. */
enum owner {
    OWNER_JVM,
    OWNER_GC,    /* the JVM, in a thread or an operation of the collector */
    OWNER_JAVA,  /* Java code itself, and Unsafe on its behalf */
    OWNER_OTHER, /* any other library */
};

enum row {
    ROW_HEAP,
    ROW_CLASS,
    ROW_METASPACE,
    ROW_CODE,
    ROW_GC,
    ROW_THREAD,
    ROW_OTHER,
    ROW_MALLOC_JVM,
    ROW_MAPPED_JVM,
    ROW_MALLOC,
    ROW_MAPPED,
    ROW_STACKS,
    ROW_LIBRARIES,
    ROW_FILES,
    ROW_GIVEN_BACK,
    ROW_UNSEEN,
    ROWS
};
_Static_assert(ROWS <= OBSERVE_GROWTH_MAX, "a report has room for each");
static const struct {
    const char *name;
    bool outside; /* of NMT */
} ROW[ROWS] = {
    [ROW_HEAP] = {"Java Heap", false},
    [ROW_CLASS] = {"Class", false},
    [ROW_METASPACE] = {"Metaspace", false},
    [ROW_CODE] = {"Code", false},
    [ROW_GC] = {"GC", false},
    [ROW_THREAD] = {"Thread", false},
    [ROW_OTHER] = {"Other (direct buffers, Unsafe)", false},
    [ROW_MALLOC_JVM] = {"malloc arenas of the JVM", false},
    [ROW_MAPPED_JVM] = {"mappings of the JVM", false},
    [ROW_MALLOC] = {"malloc arenas outside of NMT", true},
    [ROW_MAPPED] = {"mappings outside of NMT", true},
    [ROW_STACKS] = {"thread stacks outside of NMT", true},
    [ROW_LIBRARIES] = {"libraries", true},
    [ROW_FILES] = {"files", true},
    [ROW_GIVEN_BACK] = {"given back", false},
    [ROW_UNSEEN] = {"not seen to be touched", false},
};

struct mapping {
    uint64_t low, high;
    int64_t bytes; /* anonymous and resident, swapped pages included */
    enum rss_kind kind;
    bool huge;     /* it has huge pages */
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
    bool jvm; /* has a frame of libjvm, or of Java */
};

struct touch {
    uint64_t address;
    uint32_t order, stack;
    float faults;  /* 0: the page is not resident any more, or was touched again */
    bool on_stack; /* of the thread itself */
};

struct rss_watch {
    struct mappings before;
    struct rss_range ranges[JVM_RANGES_MAX];
    int range_count;
    struct touch *touch;
    uint32_t touches;
    struct touched_stack *stack; /* hashed; depth 0: free */
    uint32_t stacks;
    struct stack_frame *frames;
    uint32_t frame_count;
    double dropped; /* faults that found no room here */
};

/* --- mappings --------------------------------------------------------------------------------- */

static bool read_mappings(struct rss_watch *watch, const struct target *target,
                          struct mappings *mappings)
{
    struct rss_account account;
    struct smaps smaps;
    struct smaps_mapping mapping;
    struct span text = proc_read_most(target->pid, "smaps", SMAPS_MAX);
    if (text.ptr == NULL)
        return false;
    rss_account_begin(&account, watch->ranges, watch->range_count);
    smaps_begin(&smaps, text);
    bool good = true;
    while (good && smaps_next(&smaps, &mapping)) {
        good =
            array_room(&mappings->at, &mappings->room, mappings->count + 1, sizeof *mappings->at);
        if (!good)
            break;
        mappings->at[mappings->count++] = (struct mapping){
            .low = mapping.map.start_address,
            .high = mapping.map.end_address,
            .bytes = mapping.anonymous_bytes + mapping.swap_bytes,
            .kind = rss_account_kind(&account, &mapping.map),
            .huge = mapping.huge_bytes > 0,
        };
    }
    free((void *)text.ptr);
    return good && mappings->count > 0;
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
        watch->range_count = jvm_ranges_read(watch->ranges);
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

static bool begins_with_one(const char *name, const char *const *begins)
{
    for (; *begins != NULL; begins++)
        if (strncmp(name, *begins, strlen(*begins)) == 0)
            return true;
    return false;
}

/* Functions of libjvm by which threads and operations of a collector are known. */
static const char *const COLLECTS[] = {"GangWorker::",
                                       "AbstractGangWorker::",
                                       "WorkerThread::",
                                       "ConcurrentGCThread::",
                                       "VM_GC_",
                                       "VM_G1",
                                       "VM_Parallel",
                                       "VM_GenCollect",
                                       "VM_Collect",
                                       "VM_X",
                                       "VM_Z",
                                       "VM_Shenandoah",
                                       "G1",
                                       "ShenandoahHeap::",
                                       "ParallelScavengeHeap::",
                                       NULL};
static const char *const ON_BEHALF[] = {"Unsafe_", NULL};

/* How memory is asked for, not by whom. */
static bool is_plumbing(const struct stack_frame *frame)
{
    return frame->kind == CALL_FRAME_NATIVE &&
           (frame->library == NULL || stack_frame_is_of(frame, "libc") ||
            stack_frame_is_of(frame, this_machine.loader) ||
            strncmp(frame->library, "libpthread", strlen("libpthread")) == 0);
}

/* The first that is not the C library: libjvm's own memory is NMT's, that of other libraries is not. */
static enum owner owner_of(const struct stack_frame *frames, int depth)
{
    int at = 0;
    while (at < depth && is_plumbing(&frames[at]))
        at++;
    if (at == depth)
        return OWNER_OTHER;
    if (frames[at].kind == CALL_FRAME_JAVA)
        return OWNER_JAVA;
    if (!stack_frame_is_of(&frames[at], "libjvm"))
        return OWNER_OTHER;
    for (int i = at; i < depth && stack_frame_is_of(&frames[i], "libjvm"); i++) {
        if (begins_with_one(frames[i].name, ON_BEHALF))
            return OWNER_JAVA;
        if (begins_with_one(frames[i].name, COLLECTS))
            return OWNER_GC;
    }
    return OWNER_JVM;
}

static bool has_jvm(const struct stack_frame *frames, int depth)
{
    for (int i = 0; i < depth; i++)
        if (frames[i].kind == CALL_FRAME_JAVA || stack_frame_is_of(&frames[i], "libjvm"))
            return true;
    return false;
}

/* UINT32_MAX: there is no room. Names are kept once each, so that their addresses distinguish them. */
static uint32_t keep_stack(struct rss_watch *watch, const struct stack_frame *frames, int depth)
{
    uint64_t hash = (uint64_t)depth;
    for (int i = 0; i < depth; i++)
        hash = fold_word(hash ^ (uintptr_t)frames[i].name);
    uint32_t slot = (uint32_t)(hash >> 20) & (STACKS_SLOTS - 1);
    for (; watch->stack[slot].depth != 0; slot = (slot + 1) & (STACKS_SLOTS - 1))
        if (watch->stack[slot].hash == hash && watch->stack[slot].depth == (uint32_t)depth)
            return slot;
    if (watch->stacks == STACKS_MAX || FRAMES_MAX - watch->frame_count < (uint32_t)depth ||
        depth == 0)
        return UINT32_MAX;
    watch->stack[slot] = (struct touched_stack){
        .hash = hash,
        .first = watch->frame_count,
        .depth = (uint32_t)depth,
        .owner = owner_of(frames, depth),
        .jvm = has_jvm(frames, depth),
    };
    memcpy(watch->frames + watch->frame_count, frames, (size_t)depth * sizeof *frames);
    watch->frame_count += (uint32_t)depth;
    watch->stacks++;
    return slot;
}

/* Faults are lost in a burst, after those that filled the ring. */
static void stand_for_lost(struct rss_watch *watch, double lost)
{
    uint32_t count = watch->touches < LOST_OVER ? watch->touches : LOST_OVER;
    for (uint32_t i = 1; lost > 0.0 && i <= count; i++)
        watch->touch[watch->touches - i].faults += (float)(lost / count);
}

void rss_touch(struct rss_watch *watch, const struct perf_sample *sample,
               const struct stack_frame *frames, int depth)
{
    uint32_t stack = watch->touches < TOUCHES_MAX ? keep_stack(watch, frames, depth) : UINT32_MAX;
    stand_for_lost(watch, (double)sample->lost);
    if (stack == UINT32_MAX) {
        watch->dropped += (double)sample->weight;
        return;
    }
    uint64_t sp = sample->registers != NULL ? sample->registers[this_machine.sp] : 0;
    watch->touch[watch->touches] = (struct touch){
        .address = sample->address,
        .order = watch->touches,
        .stack = stack,
        .faults = (float)sample->weight,
        .on_stack =
            sp != 0 && sample->address + STACK_BELOW >= sp && sample->address < sp + STACK_ABOVE,
    };
    watch->touches++;
}

/* --- growth ----------------------------------------------------------------------------------- */

static struct mapping *mapping_of(const struct mappings *mappings, uint64_t address)
{
    size_t low = entries_up_to(mappings->at, mappings->count, sizeof *mappings->at, address);
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

/* What the JVM says of an address, or the form of its mapping; ROW_UNSEEN: the stacks that touched it decide. */
static enum row row_at(const struct rss_watch *watch, uint64_t address,
                       const struct mapping *mapping)
{
    const struct rss_range *range = jvm_range_of(watch->ranges, watch->range_count, address);
    if (range != NULL) {
        switch (range->category) {
        case NMT_JAVA_HEAP:
            return ROW_HEAP;
        case NMT_CLASS:
            return ROW_CLASS;
        case NMT_METASPACE:
            return ROW_METASPACE;
        case NMT_CODE:
            return ROW_CODE;
        case NMT_GC:
            return ROW_GC;
        default:
            return ROW_THREAD;
        }
    }
    if (mapping->kind == RSS_LIBRARIES)
        return ROW_LIBRARIES;
    if (mapping->kind == RSS_FILES || mapping->kind == RSS_SHARED || mapping->kind == RSS_KERNEL)
        return ROW_FILES;
    return ROW_UNSEEN;
}

static enum row row_of(const struct rss_watch *watch, const struct touch *touch,
                       const struct mapping *mapping)
{
    const struct touched_stack *stack = &watch->stack[touch->stack];
    enum row row = row_at(watch, touch->address, mapping);
    if (row != ROW_UNSEEN)
        return row;
    bool malloc_arena = mapping->kind == RSS_MALLOC_MAIN || mapping->kind == RSS_MALLOC_ARENAS;
    if (touch->on_stack && !malloc_arena)
        return stack->jvm ? ROW_THREAD : ROW_STACKS;
    switch (stack->owner) {
    case OWNER_JAVA:
        return ROW_OTHER;
    case OWNER_GC:
        return ROW_GC;
    case OWNER_JVM:
        return malloc_arena ? ROW_MALLOC_JVM : ROW_MAPPED_JVM;
    default:
        return malloc_arena ? ROW_MALLOC : ROW_MAPPED;
    }
}

static void add_row(struct observe_report *report, enum row row, int64_t bytes)
{
    report->growth[row].bytes += bytes;
    report->count += bytes;
}

static void name_rows(struct observe_report *report)
{
    int kept = 0;
    for (int i = 0; i < ROWS; i++) {
        if (report->growth[i].bytes != 0)
            report->growth[kept++] =
                (struct observe_growth){ROW[i].name, report->growth[i].bytes, ROW[i].outside};
    }
    report->growth_count = kept;
}

static int by_bytes(const void *a, const void *b)
{
    const struct observe_growth *left = a, *right = b;
    return (left->bytes < right->bytes) - (left->bytes > right->bytes);
}

static int by_grown(const void *a, const void *b)
{
    const struct observe_grower *left = a, *right = b;
    return (left->bytes < right->bytes) - (left->bytes > right->bytes);
}

static int by_page(const void *a, const void *b)
{
    const struct touch *left = a, *right = b;
    uint64_t x = machine_page_of(left->address), y = machine_page_of(right->address);
    return x != y ? (x > y) - (x < y) : (left->order > right->order) - (left->order < right->order);
}

/* As many pages as have room for their table entries in one make a huge page: 2 MB of pages of 4 KB. */
static uint64_t block_pages(void)
{
    return machine_page_bytes() / sizeof(uint64_t);
}

static uint64_t block_of(uint64_t address)
{
    return address / machine_page_bytes() / block_pages();
}

/* Touches of one block, sorted by page. A page that was given back counts for whom
 * touched it last, if it is there at all. One touch may have brought a huge page: then those of the block stand
 * for all its pages. */
static void weigh_block(struct touch *touch, size_t count, const struct mapping *mapping)
{
    bool present[BLOCK_MAX];
    const uint64_t page_bytes = machine_page_bytes(), block = block_pages();
    uint64_t first = block_of(touch[0].address) * block;
    double weight = 0.0;
    uint64_t pages = 0;
    if (block > BLOCK_MAX || !remote_present(first * page_bytes, block, present))
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t page = touch[i].address / page_bytes;
        bool again = i + 1 < count && touch[i + 1].address / page_bytes == page;
        if (again || !present[page - first])
            touch[i].faults = 0.0f;
        weight += (double)touch[i].faults;
    }
    for (uint64_t i = 0; i < block; i++)
        pages += present[i];
    for (size_t i = 0; mapping->huge && pages == block && weight > 0.0 && i < count; i++)
        touch[i].faults *= (float)((double)block / weight);
}

static void weigh_touches(struct rss_watch *watch, const struct mappings *after)
{
    qsort(watch->touch, watch->touches, sizeof *watch->touch, by_page);
    for (size_t at = 0, next; at < watch->touches; at = next) {
        uint64_t block = block_of(watch->touch[at].address);
        const struct mapping *mapping = mapping_of(after, watch->touch[at].address);
        for (next = at + 1; next < watch->touches && block_of(watch->touch[next].address) == block;)
            next++;
        if (mapping != NULL)
            weigh_block(watch->touch + at, next - at, mapping);
    }
}

/* Growth of mappings without an observed fault: where faults were lost, mappings of the same kind that were seen
 * stand for it. */
static void raise_by_unseen(const struct rss_watch *watch, const struct mappings *after)
{
    double seen[RSS_KIND_COUNT] = {0}, unseen[RSS_KIND_COUNT] = {0};
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < after->count; i++) {
            struct mapping *mapping = &after->at[i];
            double growth = (double)mapping->growth;
            if (growth <= 0.0 || row_at(watch, mapping->low, mapping) != ROW_UNSEEN)
                continue;
            if (round == 0)
                *(mapping->weight > 0.0 ? &seen[mapping->kind] : &unseen[mapping->kind]) += growth;
            else if (mapping->weight > 0.0)
                mapping->growth += (int64_t)(growth * unseen[mapping->kind] / seen[mapping->kind]);
            else if (seen[mapping->kind] > 0.0)
                mapping->growth = 0;
        }
    }
}

/* The line of the application, and the function of a library that does it. */
static void add_grower(struct observe_report *report, const struct stack_frame *frames, int depth,
                       bool outside, int64_t bytes)
{
    struct observe_grower *at = report->grower;
    int native = 0, i = 0;
    while (native < depth &&
           (is_plumbing(&frames[native]) || stack_frame_is_of(&frames[native], "libjvm")))
        native++;
    bool is_native = native < depth && frames[native].kind == CALL_FRAME_NATIVE;
    int by = call_site_find(frames, depth).asked_by;
    char *in_text = is_native ? stack_frame_label(&frames[native]) : NULL;
    char *by_text = by >= 0 ? stack_frame_text(&frames[by]) : NULL;
    struct observe_grower grower = {.outside = outside};
    if (in_text != NULL)
        snprintf(by_text != NULL ? grower.in : grower.by, sizeof grower.in, "%s", in_text);
    if (by_text != NULL)
        snprintf(grower.by, sizeof grower.by, "%s", by_text);
    free(in_text);
    free(by_text);
    while (i < report->grower_count &&
           (at[i].outside != outside || strcmp(at[i].by, grower.by) != 0 ||
            strcmp(at[i].in, grower.in) != 0))
        i++;
    if (grower.by[0] == '\0' || i == OBSERVE_GROWERS_MAX)
        return;
    if (i == report->grower_count)
        at[report->grower_count++] = grower;
    at[i].bytes += bytes;
}

/* Each stack's share of what its mapping grew by. */
static void share_out(struct rss_watch *watch, const struct mappings *after,
                      struct observe_report *report)
{
    struct stack_frame frames[STACK_FRAMES_MAX + 1];
    weigh_touches(watch, after);
    for (uint32_t i = 0; i < watch->touches; i++) {
        struct mapping *mapping = mapping_of(after, watch->touch[i].address);
        if (mapping != NULL)
            mapping->weight += (double)watch->touch[i].faults;
    }
    if (report->lost > 0)
        raise_by_unseen(watch, after);
    for (uint32_t i = 0; i < watch->touches; i++) {
        const struct touch *touch = &watch->touch[i];
        const struct touched_stack *stack = &watch->stack[touch->stack];
        const struct mapping *mapping = mapping_of(after, touch->address);
        if (mapping == NULL || mapping->growth <= 0 || mapping->weight <= 0.0)
            continue;
        int64_t bytes =
            (int64_t)((double)mapping->growth * (double)touch->faults / mapping->weight);
        enum row row = row_of(watch, touch, mapping);
        uint32_t depth = stack->depth < STACK_FRAMES_MAX ? stack->depth : STACK_FRAMES_MAX;
        if (bytes <= 0)
            continue;
        memcpy(frames, watch->frames + stack->first, depth * sizeof *frames);
        frames[depth] = (struct stack_frame){.name = ROW[row].name, .kind = CALL_FRAME_STATE};
        call_tree_add(report->tree, frames, (int)depth + 1, bytes);
        add_row(report, row, bytes);
        add_grower(report, frames, (int)depth, ROW[row].outside, bytes);
    }
}

static void add_rest(const struct rss_watch *watch, const struct mappings *after,
                     const int64_t gone[RSS_KIND_COUNT], struct observe_report *report)
{
    int64_t total = 0;
    enum row row;
    for (size_t i = 0; i < after->count; i++) {
        const struct mapping *mapping = &after->at[i];
        total += mapping->growth;
        if (mapping->growth < 0)
            add_row(report, ROW_GIVEN_BACK, mapping->growth);
        else if (mapping->weight <= 0.0 &&
                 (row = row_at(watch, mapping->low, mapping)) != ROW_UNSEEN)
            add_row(report, row, mapping->growth);
    }
    for (int kind = 0; kind < RSS_KIND_COUNT; kind++) {
        total += gone[kind];
        if (gone[kind] != 0)
            add_row(report, ROW_GIVEN_BACK, gone[kind]);
    }
    /* Memory without an observed fault, and the rest of rounding. */
    if (total - report->count != 0)
        add_row(report, ROW_UNSEEN, total - report->count);
}

bool rss_close(struct rss_watch *watch, const struct target *target, struct observe_report *report,
               char *error, size_t error_size)
{
    struct mappings after = {0};
    struct malloc_arenas arenas;
    int64_t gone[RSS_KIND_COUNT] = {0};
    bool good = watch != NULL && target != NULL;
    if (good) {
        watch->range_count = jvm_ranges_read(watch->ranges);
        good = read_mappings(watch, target, &after);
        if (!good)
            snprintf(error, error_size, "the process has ended: its mappings cannot be read again");
    }
    if (good) {
        compare(&watch->before, &after, gone);
        report->count = 0;
        share_out(watch, &after, report);
        add_rest(watch, &after, gone, report);
        name_rows(report);
        malloc_arenas_read(&arenas);
        report->arenas = (struct observe_arenas){
            arenas.count,      arenas.why,       arenas.system_bytes, arenas.free_bytes,
            arenas.trim_bytes, arenas.top_bytes, arenas.partial};
        qsort(report->growth, (size_t)report->growth_count, sizeof *report->growth, by_bytes);
        qsort(report->grower, (size_t)report->grower_count, sizeof *report->grower, by_grown);
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
