/* Signal context: everything a handler can reach of the storage of stacks. */
#include "agent/calltrace/calltrace_layout.h"

#include "agent/mem/fold_hash.h"

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

/* --- stacks ----------------------------------------------------------------------------------- */

struct stack {
    const struct frame *frames;
    int32_t depth;
    bool truncated;
    uint64_t key;
};

static size_t frames_bytes(const struct stack *stack)
{
    return (size_t)stack->depth * sizeof *stack->frames;
}

static bool is_same(const struct trace *trace, const struct stack *stack)
{
    return trace->depth == stack->depth && trace->truncated == stack->truncated &&
           memcmp(trace->frames, stack->frames, frames_bytes(stack)) == 0;
}

/* A copy that is on the table's list and not published. NULL: no room. */
static struct trace *copy(struct table *table, const struct stack *stack)
{
    struct trace *trace =
        arena_alloc(table->arena, offsetof(struct trace, frames) + frames_bytes(stack));
    if (trace == NULL)
        return NULL;
    uint32_t number = atomic_fetch_add_explicit(&table->last_number, 1, memory_order_relaxed) + 1;
    trace->id = number << 1 | table->parity;
    trace->depth = stack->depth;
    trace->truncated = stack->truncated;
    memcpy(trace->frames, stack->frames, frames_bytes(stack));
    atomic_init(&trace->published, false);
    trace->next = atomic_load_explicit(&table->newest, memory_order_relaxed);
    /* Release; partner: the acquire of newest in visit_all. Forbidden: the drain follows a list to
     * a trace that is not written yet. Nothing is ever taken from the list while handlers are
     * inside, so an equal head is the same head. */
    while (!atomic_compare_exchange_weak_explicit(&table->newest, &trace->next, trace,
                                                  memory_order_release, memory_order_relaxed))
        continue;
    return trace;
}

/* Whoever hands out an id makes sure of the mark first: its owner may be a handler that we have
 * interrupted between its entry and the mark, and the drain must find what an event names. */
static uint32_t publish(struct trace *trace)
{
    if (!atomic_load_explicit(&trace->published, memory_order_relaxed))
        atomic_store_explicit(&trace->published, true, memory_order_release);
    return trace->id;
}

static void count(_Atomic int64_t *counter)
{
    /* No read-modify-write: a counter of a slot has one writer at a time. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static uint32_t drop(struct refcount_slot *slot)
{
    count(&slot->dropped_full);
    return 0;
}

static uint64_t rotate_right(uint64_t value, unsigned by)
{
    return value >> (by % 64) | value << (-by % 64);
}

/* Is this the entry for the key? Takes it when it is free. Not read before it is written: to read a
 * page first costs a second fault when it is written, and that one makes the kernel interrupt the
 * other processors. */
static bool take_entry(struct table *table, struct entry *entry, uint64_t key)
{
    /* Relaxed: a key says nothing about other memory; the trace is loaded with acquire. */
    uint64_t found = 0;
    if (atomic_compare_exchange_strong_explicit(&entry->key, &found, key, memory_order_relaxed,
                                                memory_order_relaxed)) {
        atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed);
        return true;
    }
    return found == key;
}

/* An entry with a key and without a trace belongs to a handler that is about to fill it, or found
 * no memory to do so, or is suspended below us on this very stack. So nobody waits: each brings a
 * copy and one of them wins. */
static uint32_t put(struct table *table, struct refcount_slot *slot, const struct stack *stack)
{
    struct trace *own = NULL;
    /* Acquire; partner: the release in add_level. Forbidden: a level that is not filled in. */
    int levels = atomic_load_explicit(&table->level_count, memory_order_acquire);
    for (int i = 0; i < levels; i++) {
        const struct level *level = &table->levels[i];
        size_t first = (size_t)rotate_right(stack->key, 9 * (unsigned)i);
        for (size_t step = 0; step < CALLTRACE_WINDOW; step++) {
            struct entry *entry = &level->entries[(first + step) & level->mask];
            if (!take_entry(table, entry, stack->key))
                continue;
            /* Acquire; partner: the release below. Forbidden: frames that are not written yet. */
            struct trace *there = atomic_load_explicit(&entry->trace, memory_order_acquire);
            if (there == NULL) {
                if (own == NULL && (own = copy(table, stack)) == NULL)
                    return drop(slot);
                if (atomic_compare_exchange_strong_explicit(
                        &entry->trace, &there, own, memory_order_acq_rel, memory_order_acquire)) {
                    count(&slot->stored_new);
                    return publish(own);
                }
            }
            if (is_same(there, stack)) {
                count(&slot->stored_seen);
                return publish(there);
            }
        }
    }
    return drop(slot);
}

uint32_t calltrace_put(struct calltrace_storage *storage, int slot, const struct frame *frames,
                       int depth, bool truncated)
{
    struct refcount_slot *mine = &storage->slots[slot];
    struct table *table = atomic_load_explicit(&mine->inside, memory_order_relaxed);
    struct stack stack = {.frames = frames, .depth = depth, .truncated = truncated};
    stack.key = fold_hash(frames, frames_bytes(&stack), truncated);
    return put(table, mine, &stack);
}
