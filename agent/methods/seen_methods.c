/* The drain thread's part of the names copied when first sampled. */
#include "agent/methods/seen_methods_layout.h"

#include "floor/hotspot/layout.h"
#include "agent/mem/mem.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What stays resident of the handover after a burst, in whole pages. */
#define HANDOVER_KEPT_BYTES ((size_t)8 << 10)
#define UNLOADED_WORDS      (SEEN_UNLOADED_BITS / 64)

/* --- life ------------------------------------------------------------------------------------- */

static size_t level_bytes(int level)
{
    return (size_t)seen_buckets(level) * SEEN_PLACES * sizeof(uint32_t);
}

static void *map(size_t size)
{
    return mem_map(COMPONENT_SEEN_METHODS, size);
}

static void unmap(void *block, size_t size)
{
    if (block != NULL)
        mem_unmap(COMPONENT_SEEN_METHODS, block, size);
}

struct seen_methods *seen_methods_create(size_t bound_bytes)
{
    struct seen_methods *seen = map(sizeof *seen);
    if (seen == NULL)
        return NULL;
    size_t entries = bound_bytes / SEEN_METHOD_BYTES + 1;
    seen->bound_bytes = bound_bytes < INT64_MAX ? (int64_t)bound_bytes : INT64_MAX;
    seen->capacity = entries < SEEN_ENTRIES_MAX ? (uint32_t)entries : SEEN_ENTRIES_MAX;
    seen->entries = map(seen->capacity * sizeof *seen->entries);
    seen->unloaded = map(UNLOADED_WORDS * sizeof *seen->unloaded);
    seen->recent = map(SEEN_RECENT * sizeof *seen->recent);
    bool good = seen->entries != NULL && seen->unloaded != NULL && seen->recent != NULL;
    for (int i = 0; i < SEEN_LEVELS; i++) {
        seen->index[i] = map(level_bytes(i));
        good = good && seen->index[i] != NULL;
    }
    for (int i = 0; i < 2; i++) {
        seen->handover[i].bytes = map(SEEN_HANDOVER_BYTES);
        good = good && seen->handover[i].bytes != NULL;
    }
    if (!good) {
        seen_methods_destroy(seen);
        return NULL;
    }
    atomic_init(&seen->announced, 1);
    atomic_init(&seen->chunk, 1);
    atomic_init(&seen->last_number, SEEN_FIRST - 1);
    return seen;
}

void seen_methods_destroy(struct seen_methods *seen)
{
    if (seen == NULL)
        return;
    for (int i = 0; i < SEEN_LEVELS; i++)
        unmap(seen->index[i], level_bytes(i));
    for (int i = 0; i < 2; i++)
        unmap(seen->handover[i].bytes, SEEN_HANDOVER_BYTES);
    unmap(seen->unloaded, UNLOADED_WORDS * sizeof *seen->unloaded);
    unmap(seen->recent, SEEN_RECENT * sizeof *seen->recent);
    unmap(seen->entries, seen->capacity * sizeof *seen->entries);
    unmap(seen, sizeof *seen);
}

/* --- classes that come and go ----------------------------------------------------------------- */

void seen_methods_class_loaded(struct seen_methods *seen)
{
    /* Release; partner: the acquire in seen_methods_put. Forbidden: that a method of the new class
     * is met and the number before this one is seen. (The thread that runs it is this one, or has
     * got the class from it.) */
    atomic_fetch_add_explicit(&seen->announced, 1, memory_order_release);
}

/* Names that share a bit make a method be forgotten that could have stayed: it is met anew. */
void seen_methods_class_unloaded(struct seen_methods *seen, const char *name)
{
    if (name == NULL)
        return;
    uint32_t bit = method_class_hash(name, strlen(name)) % SEEN_UNLOADED_BITS;
    atomic_fetch_or_explicit(&seen->unloaded[bit / 64], UINT64_C(1) << (bit % 64),
                             memory_order_relaxed);
    atomic_store_explicit(&seen->any_unloaded, true, memory_order_release);
}

static bool is_unloaded(const struct seen_methods *seen, uint32_t class_hash)
{
    uint32_t bit = class_hash % SEEN_UNLOADED_BITS;
    uint64_t word = atomic_load_explicit(&seen->unloaded[bit / 64], memory_order_relaxed);
    return (word >> (bit % 64) & 1) != 0;
}

/* --- handover --------------------------------------------------------------------------------- */

static void visit_note(struct seen_methods *seen, const struct seen_note *note,
                       seen_method_visit_fn *visit, void *context)
{
    struct seen_method method = {
        .class_name = note->bytes,
        .name = note->bytes + note->class_length + 1,
        .modifiers = note->modifiers,
        .lines_bytes = note->lines_bytes,
        .lines_lowest = method_lines_lowest(),
    };
    method.signature = method.name + note->name_length + 1;
    if (note->lines_bytes > 0)
        method.lines = (const uint8_t *)method.signature + note->signature_length + 1;
    seen->entries[note->entry].life = SEEN_COLLECTED;
    seen_count(&seen->methods, 1);
    visit(context, note->number, &method);
}

static void empty(struct seen_handover *half)
{
    size_t used = atomic_load_explicit(&half->used, memory_order_relaxed);
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           kept = (HANDOVER_KEPT_BYTES + page - 1) / page * page;
    if (used > kept)
        madvise(half->bytes + kept, SEEN_HANDOVER_BYTES - kept, MADV_DONTNEED);
    atomic_store_explicit(&half->used, 0, memory_order_relaxed);
}

void seen_methods_collect(struct seen_methods *seen, seen_method_visit_fn *visit, void *context)
{
    int now = atomic_load_explicit(&seen->handover_now, memory_order_relaxed);
    struct seen_handover *half = &seen->handover[now];
    /* Used and without a note: somebody is copying, or could not. */
    if (atomic_load_explicit(&seen->notes, memory_order_acquire) == NULL &&
        atomic_load_explicit(&half->used, memory_order_relaxed) < SEEN_HANDOVER_BYTES / 2)
        return;
    /* Handlers that choose a half from now on choose the other one; when those that chose before
     * have left, all that is in this one has its note. Sequentially consistent, as mem/handlers.h
     * is: who entered after the wait began sees the new choice. */
    atomic_store(&seen->handover_now, 1 - now);
    handlers_wait(&seen->copying);
    /* Acquire; partner: the release in publish. */
    const struct seen_note *note =
        atomic_exchange_explicit(&seen->notes, NULL, memory_order_acquire);
    for (; note != NULL; note = note->next)
        visit_note(seen, note, visit, context);
    empty(half);
}

/* --- forgetting ------------------------------------------------------------------------------- */

static void give_back(struct seen_methods *seen, uint32_t at)
{
    struct seen_entry *entry = &seen->entries[at];
    uint64_t head = atomic_load_explicit(&seen->free_list, memory_order_relaxed), rest;
    entry->life = SEEN_FREE;
    atomic_store_explicit(&entry->number, 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(&seen->held_bytes, entry->held_bytes, memory_order_relaxed);
    /* Release; partner: the acquire in take_free. Forbidden: that its next owner's number is
     * overwritten by the zero above. */
    do {
        atomic_store_explicit(&entry->next, (uint32_t)head, memory_order_relaxed);
        rest = ((head >> 32) + 1) << 32 | (at + 1);
    } while (!atomic_compare_exchange_weak_explicit(&seen->free_list, &head, rest,
                                                    memory_order_release, memory_order_relaxed));
}

static void leave_index(struct seen_methods *seen, struct seen_entry *entry)
{
    entry->life = SEEN_LEAVING;
    seen_count(&seen->methods, -1);
    seen_count(&seen->forgotten, 1);
    if (entry->place == SEEN_NOWHERE)
        return;
    uint32_t mine =
        seen_tag(seen_place_hash(entry->method)) | ((uint32_t)(entry - seen->entries) + 1);
    /* Only if a handler has not given it up already (withdraw). Release: nothing, but that TSan and
     * readers see the place given up after its use. Who takes it fills an entry of his own. */
    atomic_compare_exchange_strong_explicit(
        &seen->index[entry->place >> 24][entry->place & 0xffffff], &mine, 0, memory_order_release,
        memory_order_relaxed);
}

void seen_methods_turn(struct seen_methods *seen, seen_method_gone_fn *gone, void *context)
{
    uint32_t chunk = atomic_load_explicit(&seen->chunk, memory_order_relaxed);
    uint32_t used = atomic_load_explicit(&seen->entries_used, memory_order_acquire);
    bool unloaded = atomic_exchange_explicit(&seen->any_unloaded, false, memory_order_acquire);
    for (uint32_t at = 0; at < used; at++) {
        struct seen_entry *entry = &seen->entries[at];
        if (entry->life == SEEN_LEAVING) {
            gone(context, atomic_load_explicit(&entry->number, memory_order_relaxed));
            give_back(seen, at);
        } else if (entry->life == SEEN_COLLECTED &&
                   (chunk - atomic_load_explicit(&entry->met, memory_order_relaxed) >=
                        SEEN_AGE_MAX ||
                    atomic_load_explicit(&entry->checked, memory_order_relaxed) == SEEN_DIFFERS ||
                    (unloaded && is_unloaded(seen, entry->class_hash)))) {
            leave_index(seen, entry);
        }
    }
    /* A name that comes while this goes on may be cleared unseen: its methods go by age. */
    for (size_t i = 0; unloaded && i < UNLOADED_WORDS; i++) {
        if (atomic_load_explicit(&seen->unloaded[i], memory_order_relaxed) != 0)
            atomic_store_explicit(&seen->unloaded[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&seen->chunk, chunk + 1, memory_order_relaxed);
    seen_methods_class_loaded(seen); /* methods that came without a class are found by then */
}

void seen_methods_counts(const struct seen_methods *seen, struct seen_methods_counts *counts)
{
    *counts = (struct seen_methods_counts){
        .methods = atomic_load_explicit(&seen->methods, memory_order_relaxed),
        .seen = atomic_load_explicit(&seen->seen, memory_order_relaxed),
        .forgotten = atomic_load_explicit(&seen->forgotten, memory_order_relaxed),
        .reused = atomic_load_explicit(&seen->reused, memory_order_relaxed),
        .compared = atomic_load_explicit(&seen->compared, memory_order_relaxed),
        .over_budget = atomic_load_explicit(&seen->over_budget, memory_order_relaxed),
        .unreadable = atomic_load_explicit(&seen->unreadable, memory_order_relaxed),
        .held_bytes = atomic_load_explicit(&seen->held_bytes, memory_order_relaxed),
    };
}
