/* Signal context: everything a handler can reach of the storage of stacks. */
#include "agent/calltrace/calltrace_layout.h"

#include "floor/base/fold_hash.h"

/* --- who is inside ---------------------------------------------------------------------------- */

static void note_page(struct calltrace_storage *storage, unsigned at)
{
    unsigned page = at / REFCOUNT_PAGE_SLOTS;
    _Atomic uint64_t *word = &storage->pages_used[page / 64];
    uint64_t bit = UINT64_C(1) << (page % 64);
    /* Acquire, so that a bit set by another thread is set before what follows here; sequentially
     * consistent, together with the stores below: either the drain sees the bit and then the slot,
     * or calltrace_enter sees the drain's new active table. Forbidden: the drain passes over a page
     * in which somebody has just entered the old table. */
    if ((atomic_load_explicit(word, memory_order_acquire) & bit) == 0)
        atomic_fetch_or_explicit(word, bit, memory_order_seq_cst);
}

/* A thread's slot is its id: neighbours in id are neighbours in memory, so a process of 60 threads
 * touches a page or two. A handler that interrupted another one takes the next slot. */
int calltrace_enter(struct calltrace_storage *storage, int tid)
{
    for (unsigned try = 0; try < CALLTRACE_SLOT_TRIES; try++) {
        unsigned at = ((unsigned)tid + try) % REFCOUNT_SLOTS;
        struct refcount_slot *slot = &storage->slots[at];
        struct table *table = atomic_load_explicit(&storage->active, memory_order_seq_cst);
        struct table *nobody = NULL;
        note_page(storage, at);
        if (!atomic_compare_exchange_strong_explicit(&slot->inside, &nobody, table,
                                                     memory_order_seq_cst, memory_order_relaxed))
            continue;
        /* Partner: calltrace_rotate stores active, then loads the slots. All four sequentially
         * consistent, so one of the two sees the other. Forbidden: this handler goes on in the old
         * table while the drain found its slot free and reads that table. Acquire is in it: the
         * clearing of a table is seen before the table is. */
        struct table *now;
        while ((now = atomic_load_explicit(&storage->active, memory_order_seq_cst)) != table) {
            table = now;
            atomic_store_explicit(&slot->inside, table, memory_order_seq_cst);
        }
        return (int)at;
    }
    atomic_fetch_add_explicit(&storage->dropped_slots, 1, memory_order_relaxed);
    return -1;
}

void calltrace_leave(struct calltrace_storage *storage, int slot)
{
    if (slot < 0)
        return;
    /* Release; partner: the acquire in calltrace_rotate's load. Forbidden: the drain sees the slot
     * free and not yet what was put. It also hands the counters on to the slot's next user. */
    atomic_store_explicit(&storage->slots[slot].inside, NULL, memory_order_release);
}

/* --- the index -------------------------------------------------------------------------------- */

/* A way through the entries in which something may be. */
struct probe {
    struct trace_index *index;
    uint32_t tag;
    int level;
    size_t step;
    uint64_t found; /* in the entry where we are; 0: it is free */
};

static bool has_tag(const struct probe *probe)
{
    return probe->found >> 32 == probe->tag && probe->found != ENTRY_CLOSED;
}

static struct probe probe_begin(struct trace_index *index, uint64_t hash)
{
    /* Sequentially consistent, and after calltrace_enter's; partner: finish_doubling. Forbidden: in
     * an old level while the drain found our slot free and unmaps it. */
    int level = atomic_load_explicit(&index->level, memory_order_seq_cst);
    return (struct probe){.index = index, .tag = (uint32_t)(hash >> 32), .level = level};
}

/* The next entry that is free or may be the one; NULL: all are others'. */
static _Atomic uint64_t *probe_next(struct probe *probe)
{
    for (;;) {
        const struct index_level *level = &probe->index->levels[probe->level];
        size_t first = (size_t)probe->tag * CALLTRACE_LINE;
        while (probe->step < CALLTRACE_WINDOW) {
            _Atomic uint64_t *entry = &level->entries[(first + probe->step++) & level->mask];
            /* Acquire; partner: the release in take_entry. Forbidden: what is not written yet. */
            probe->found = atomic_load_explicit(entry, memory_order_acquire);
            if (probe->found == 0 || has_tag(probe))
                return entry;
            if (probe->found == ENTRY_CLOSED)
                break;
        }
        /* Acquire; partner: the release in add_level. Forbidden: a level that is not filled in. */
        if (probe->level + 1 >=
            atomic_load_explicit(&probe->index->level_count, memory_order_acquire))
            return NULL;
        probe->level++;
        probe->step = 0;
    }
}

/* False: somebody was faster; found says with what. */
static bool take_entry(struct probe *probe, _Atomic uint64_t *entry, uint32_t reference)
{
    uint64_t mine = (uint64_t)probe->tag << 32 | reference;
    if (!atomic_compare_exchange_strong_explicit(entry, &probe->found, mine, memory_order_release,
                                                 memory_order_acquire))
        return false;
    atomic_fetch_add_explicit(&probe->index->used, 1, memory_order_relaxed);
    return true;
}

/* What is looked for, where it is made when it is not there. */
struct wanted {
    struct table *table;
    const struct frame *frame; /* NULL: the stack ends here */
    /* Of a trace. */
    const struct frame
        *frames; /* innermost first; frame is the one before frames[depth - shared] */
    uint32_t parent, shared, depth;
    bool truncated;
};
typedef bool is_it_fn(const struct wanted *wanted, uint32_t reference);
typedef uint32_t make_fn(const struct wanted *wanted);

/* The reference; 0: there is no room. Nobody waits for anybody: each who finds it missing makes it,
 * and one of them wins. */
static inline __attribute__((always_inline)) uint32_t
find_or_make(struct trace_index *index, uint64_t hash, const struct wanted *wanted, is_it_fn *is_it,
             make_fn *make, bool *made)
{
    struct probe probe = probe_begin(index, hash);
    uint32_t own = 0;
    _Atomic uint64_t *entry;
    while ((entry = probe_next(&probe)) != NULL) {
        if (probe.found == 0) {
            if (own == 0 && (own = make(wanted)) == 0)
                return 0;
            *made = take_entry(&probe, entry, own);
            if (*made)
                return own;
            if (probe.found == ENTRY_CLOSED)
                probe.step = CALLTRACE_WINDOW;
        }
        if (has_tag(&probe) && is_it(wanted, (uint32_t)probe.found))
            return (uint32_t)probe.found;
    }
    return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint64_t frame_hash(const struct frame *frame)
{
    uint64_t words[2];
    memcpy(words, frame, sizeof words);
    return fold_multiply(words[0] ^ UINT64_C(0x9E3779B97F4A7C15),
                         words[1] ^ UINT64_C(0xD6E8FEB86659FD93));
}

static void prefetch_entry(const struct trace_index *index, const struct frame *frame)
{
    int now = atomic_load_explicit(&index->level, memory_order_seq_cst);
    const struct index_level *level = &index->levels[now];
    size_t first = (size_t)(frame_hash(frame) >> 32) * CALLTRACE_LINE & level->mask;
    __builtin_prefetch((const void *)&level->entries[first]);
}

static bool is_frame(const struct wanted *wanted, uint32_t reference)
{
    return memcmp(arena_at(wanted->table->arena, reference), wanted->frame,
                  sizeof *wanted->frame) == 0;
}

static uint32_t make_frame(const struct wanted *wanted)
{
    uint32_t reference = arena_alloc(wanted->table->arena, sizeof *wanted->frame);
    if (reference != 0)
        memcpy(arena_at(wanted->table->arena, reference), wanted->frame, sizeof *wanted->frame);
    return reference;
}

static uint32_t put_frame(struct table *table, const struct frame *frame)
{
    const struct wanted wanted = {.table = table, .frame = frame};
    bool made;
    return find_or_make(&table->frames, frame_hash(frame), &wanted, is_frame, make_frame, &made);
}

/* --- traces ----------------------------------------------------------------------------------- */

static struct trace *trace_at(const struct table *table, uint32_t reference)
{
    return arena_at(table->arena, reference);
}

static uint64_t child_hash(const struct wanted *wanted)
{
    uint64_t first = wanted->frame != NULL ? frame_hash(wanted->frame) : 1u + wanted->truncated;
    return fold_multiply(first ^ ((uint64_t)wanted->shared << 32 | wanted->parent),
                         UINT64_C(0xE7037ED1A0B428DB));
}

static bool is_child(const struct wanted *wanted, uint32_t reference)
{
    const struct trace *trace = trace_at(wanted->table, reference);
    if (trace->parent != wanted->parent || trace->shared != wanted->shared)
        return false;
    if (wanted->frame == NULL)
        return trace->own == 0 && trace->truncated == wanted->truncated;
    return trace->own > 0 && is_frame(wanted, trace->frames[0]);
}

static void put_on_list(struct table *table, struct trace *trace, uint32_t reference)
{
    trace->next = atomic_load_explicit(&table->newest, memory_order_relaxed);
    /* Release; partner: the acquire of newest in visit_all. Forbidden: the drain follows a list to
     * a trace that is not written yet. Nothing is ever taken from the list while handlers are
     * inside, so an equal head is the same head. */
    while (!atomic_compare_exchange_weak_explicit(&table->newest, &trace->next, reference,
                                                  memory_order_release, memory_order_relaxed))
        continue;
}

/* On the table's list, and not published. */
static uint32_t make_trace(const struct wanted *wanted)
{
    struct table *table = wanted->table;
    uint32_t own = wanted->depth - wanted->shared;
    uint32_t reference =
        arena_alloc(table->arena, offsetof(struct trace, frames) + own * sizeof(uint32_t));
    if (reference == 0)
        return 0;
    struct trace *trace = trace_at(table, reference);
    trace->parent = wanted->parent;
    trace->shared = (uint16_t)wanted->shared;
    trace->own = (uint16_t)own;
    trace->truncated = wanted->truncated;
    atomic_init(&trace->published, false);
    /* Their entries lie anywhere: fetched all at once, and not one after the other. */
    for (uint32_t i = 0; i < own; i++)
        prefetch_entry(&table->frames, &wanted->frames[i]);
    for (uint32_t i = 0; i < own; i++) {
        trace->frames[i] = put_frame(table, &wanted->frames[own - 1 - i]);
        if (trace->frames[i] == 0)
            return 0;
    }
    put_on_list(table, trace, reference);
    return reference;
}

/* Whoever hands out an id makes sure of the mark first: its owner may be a handler that we have
 * interrupted between its entry and the mark, and the drain must find what an event names. */
static uint32_t publish(const struct table *table, uint32_t reference)
{
    struct trace *trace = trace_at(table, reference);
    if (!atomic_load_explicit(&trace->published, memory_order_relaxed))
        atomic_store_explicit(&trace->published, true, memory_order_release);
    return reference << 1 | table->parity;
}

/* How many of the stack's frames are those of the trace, of whose parent's it has wanted->shared. */
static uint32_t follow(const struct wanted *wanted, const struct trace *trace)
{
    const struct frame *frames = wanted->frames + wanted->depth - 1;
    uint32_t at = wanted->shared, end = at + trace->own;
    if (end > wanted->depth)
        end = wanted->depth;
    for (; at < end; at++) {
        uint32_t theirs = trace->frames[at - wanted->shared];
        if (memcmp(arena_at(wanted->table->arena, theirs), frames - at, sizeof *frames) != 0)
            break;
    }
    return at;
}

static uint32_t put(struct wanted *wanted, bool *made)
{
    struct table *table = wanted->table;
    *made = false;
    for (;;) {
        bool ends = wanted->shared == wanted->depth;
        wanted->frame = ends ? NULL : &wanted->frames[wanted->depth - 1 - wanted->shared];
        uint32_t child =
            find_or_make(&table->traces, child_hash(wanted), wanted, is_child, make_trace, made);
        if (child == 0 || *made || ends)
            return child;
        const struct trace *trace = trace_at(table, child);
        uint32_t followed = follow(wanted, trace);
        if (followed == wanted->depth && followed == wanted->shared + trace->own &&
            trace->truncated == wanted->truncated)
            return child;
        wanted->parent = child;
        wanted->shared = followed;
    }
}

static void count(_Atomic int64_t *counter)
{
    /* No read-modify-write: a counter of a slot has one writer at a time. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* --- put before ------------------------------------------------------------------------------- */

static uint64_t stack_hash(const struct wanted *wanted)
{
    return fold_hash(wanted->frames, wanted->depth * sizeof *wanted->frames,
                     wanted->table->life << 1 | wanted->truncated);
}

static uint64_t proof_of(uint64_t hash, uint64_t id)
{
    return fold_multiply(hash, id ^ UINT64_C(0x9E3779B97F4A7C15));
}

/* The id; 0: not known. What stands there was published before it was kept. */
static uint32_t find_recent(const struct recent_stack *recent, uint64_t hash)
{
    uint64_t id = atomic_load_explicit(&recent->id, memory_order_relaxed);
    /* Acquire; partner: the release in keep_recent. Forbidden: an id without the mark that it is published. */
    uint64_t proof = atomic_load_explicit(&recent->proof, memory_order_acquire);
    return id != 0 && proof == proof_of(hash, id) ? (uint32_t)id : 0;
}

static void keep_recent(struct recent_stack *recent, uint64_t hash, uint32_t id)
{
    atomic_store_explicit(&recent->id, id, memory_order_relaxed);
    atomic_store_explicit(&recent->proof, proof_of(hash, id), memory_order_release);
}

uint32_t calltrace_put(struct calltrace_storage *storage, int slot, const struct frame *frames,
                       int depth, bool truncated)
{
    struct refcount_slot *mine = &storage->slots[slot];
    struct wanted wanted = {
        .table = atomic_load_explicit(&mine->inside, memory_order_relaxed),
        .frames = frames,
        .depth = (uint32_t)(depth < CALLTRACE_DEPTH_MAX ? depth : CALLTRACE_DEPTH_MAX),
        .truncated = truncated || depth > CALLTRACE_DEPTH_MAX,
    };
    bool made;
    uint64_t hash = stack_hash(&wanted);
    struct recent_stack *recent = &storage->recent[hash % CALLTRACE_RECENT];
    uint32_t id = find_recent(recent, hash);
    if (id != 0) {
        count(&mine->stored_seen);
        return id;
    }
    uint32_t reference = put(&wanted, &made);
    if (reference == 0) {
        bool exhausted = atomic_load_explicit(&storage->exhausted, memory_order_relaxed);
        count(exhausted ? &mine->dropped_budget : &mine->dropped_late);
        return 0;
    }
    count(made ? &mine->stored_new : &mine->stored_seen);
    id = publish(wanted.table, reference);
    keep_recent(recent, hash, id);
    return id;
}
