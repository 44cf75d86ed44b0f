/* Signal context: finding a method, or taking it down. */
#include "agent/methods/seen_methods_layout.h"

#include "floor/base/fold_hash.h"
#include "floor/hotspot/layout.h"
#include "agent/hotspot/safepoints.h"

#define METHOD_ALIGNMENT 8

/* A method that is looked for, and what has been read of it so far. */
struct wanted {
    uintptr_t method;
    uint64_t place_hash;
    uint64_t moment; /* as seen_entry.checked */
    uintptr_t identity;
    bool read; /* what follows */
    struct method_reading reading;
    uint64_t hash;
    uint32_t class_hash;
    bool was_another; /* an entry for this address did not fit */
};

/* --- finding ---------------------------------------------------------------------------------- */

static _Atomic uint32_t *bucket_of(const struct seen_methods *seen, int level, uint64_t place_hash)
{
    uint32_t bucket = (uint32_t)(place_hash >> (8 * level)) & (seen_buckets(level) - 1);
    return seen->index[level] + (size_t)bucket * SEEN_PLACES;
}

static bool read_all(struct wanted *wanted)
{
    if (!wanted->read)
        wanted->read = method_reading_begin(wanted->method, &wanted->reading) &&
                       method_reading_hash(&wanted->reading, &wanted->hash, &wanted->class_hash);
    return wanted->read;
}

/* Nobody finds it any more: neither a handler, nor does it stand in the way of others. */
static void withdraw(struct seen_methods *seen, struct seen_entry *entry)
{
    uint32_t at = (uint32_t)(entry - seen->entries);
    uint32_t mine = seen_tag(seen_place_hash(entry->method)) | (at + 1);
    atomic_store_explicit(&entry->checked, SEEN_DIFFERS, memory_order_relaxed);
    if (entry->place != SEEN_NOWHERE)
        /* Release: as in leave_index, which may come first. */
        atomic_compare_exchange_strong_explicit(
            &seen->index[entry->place >> 24][entry->place & 0xffffff], &mine, 0,
            memory_order_release, memory_order_relaxed);
}

static bool is_still(struct seen_methods *seen, struct seen_entry *entry, struct wanted *wanted)
{
    /* Relaxed: a comparison by another thread at the same moment was of the same method; one at an
     * older moment only makes us compare again. */
    uint64_t checked = atomic_load_explicit(&entry->checked, memory_order_relaxed);
    if (checked == SEEN_DIFFERS)
        return false;
    bool same = entry->identity == wanted->identity;
    if (same && checked == wanted->moment && checked != SEEN_NEVER)
        return true;
    if (same) {
        seen_count(&seen->compared, 1);
        if (!read_all(wanted))
            return false;
        same = entry->hash == wanted->hash;
    }
    if (same)
        atomic_store_explicit(&entry->checked, wanted->moment, memory_order_relaxed);
    else
        withdraw(seen, entry);
    return same;
}

/* The number, or 0. */
static uint64_t find_in(struct seen_methods *seen, const _Atomic uint32_t *bucket,
                        struct wanted *wanted)
{
    uint32_t tag = seen_tag(wanted->place_hash);
    for (int i = 0; i < SEEN_PLACES; i++) {
        /* Acquire; partner: the release in take_place. Forbidden: an entry that is not filled. */
        uint32_t found = atomic_load_explicit(&bucket[i], memory_order_acquire);
        if (found == 0 || (found ^ tag) >> SEEN_TAG_SHIFT != 0)
            continue;
        struct seen_entry *entry = &seen->entries[(found & ((1u << SEEN_TAG_SHIFT) - 1)) - 1];
        /* Acquire; partner: the release in publish. Forbidden: that the number comes to the drain
         * in a stack before its note does. */
        uint64_t number = atomic_load_explicit(&entry->number, memory_order_acquire);
        if (number == 0 || entry->method != wanted->method)
            continue;
        if (is_still(seen, entry, wanted)) {
            uint32_t chunk = atomic_load_explicit(&seen->chunk, memory_order_relaxed);
            if (atomic_load_explicit(&entry->met, memory_order_relaxed) != chunk)
                atomic_store_explicit(&entry->met, chunk, memory_order_relaxed);
            return number;
        }
        wanted->was_another = true;
    }
    return 0;
}

static uint64_t find(struct seen_methods *seen, struct wanted *wanted)
{
    int levels = atomic_load_explicit(&seen->levels_used, memory_order_relaxed);
    for (int level = 0; level < levels; level++) {
        uint64_t number = find_in(seen, bucket_of(seen, level, wanted->place_hash), wanted);
        if (number != 0)
            return number;
    }
    return 0;
}

/* --- taking down ------------------------------------------------------------------------------ */

/* 0: there is none. Only the drain gives entries back, so what stands in an entry's next may change
 * between the two loads, and then the list's number of changes has, too. */
static uint32_t take_free(struct seen_methods *seen)
{
    uint64_t head = atomic_load_explicit(&seen->free_list, memory_order_acquire);
    while ((uint32_t)head != 0) {
        uint32_t next =
            atomic_load_explicit(&seen->entries[(uint32_t)head - 1].next, memory_order_relaxed);
        uint64_t rest = ((head >> 32) + 1) << 32 | next;
        if (atomic_compare_exchange_weak_explicit(&seen->free_list, &head, rest,
                                                  memory_order_acquire, memory_order_acquire))
            return (uint32_t)head;
    }
    uint32_t used = atomic_load_explicit(&seen->entries_used, memory_order_relaxed);
    while (used < seen->capacity) {
        if (atomic_compare_exchange_weak_explicit(&seen->entries_used, &used, used + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return used + 1;
    }
    return 0;
}

static void *take_room(struct seen_methods *seen, size_t bytes)
{
    struct seen_handover *half = &seen->handover[atomic_load(&seen->handover_now)];
    size_t used = atomic_load_explicit(&half->used, memory_order_relaxed);
    bytes = (bytes + 7) & ~(size_t)7;
    while (bytes <= SEEN_HANDOVER_BYTES - used) {
        if (atomic_compare_exchange_weak_explicit(&half->used, &used, used + bytes,
                                                  memory_order_relaxed, memory_order_relaxed))
            return half->bytes + used;
    }
    return NULL;
}

/* A level is used from its first entry on: what nobody used is not read, and so not mapped. */
static void note_level(struct seen_methods *seen, int level)
{
    int used = atomic_load_explicit(&seen->levels_used, memory_order_relaxed);
    while (used <= level &&
           !atomic_compare_exchange_weak_explicit(&seen->levels_used, &used, level + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* Without a place it is written down all the same; only nobody finds it again. */
static void take_place(struct seen_methods *seen, uint32_t at, uint64_t place_hash)
{
    struct seen_entry *entry = &seen->entries[at];
    for (int level = 0; level < SEEN_LEVELS; level++) {
        _Atomic uint32_t *bucket = bucket_of(seen, level, place_hash);
        for (uint32_t i = 0; i < SEEN_PLACES; i++) {
            uint32_t nobody = 0;
            entry->place = (uint32_t)level << 24 | ((uint32_t)(bucket - seen->index[level]) + i);
            if (atomic_load_explicit(&bucket[i], memory_order_relaxed) == 0 &&
                atomic_compare_exchange_strong_explicit(
                    &bucket[i], &nobody, seen_tag(place_hash) | (at + 1), memory_order_release,
                    memory_order_relaxed)) {
                note_level(seen, level);
                return;
            }
        }
    }
    entry->place = SEEN_NOWHERE;
}

static size_t lines_room(const struct method_reading *reading)
{
    return reading->lines_room < METHOD_LINES_MAX ? reading->lines_room : METHOD_LINES_MAX;
}

static size_t texts_bytes(const struct method_reading *reading)
{
    return (size_t)reading->class_name.length + reading->name.length + reading->signature.length +
           3;
}

static bool fill_note(struct seen_note *note, const struct method_reading *reading)
{
    char *at = note->bytes;
    note->modifiers = reading->modifiers;
    note->class_length = reading->class_name.length;
    note->name_length = reading->name.length;
    note->signature_length = reading->signature.length;
    if (!method_reading_text(&reading->class_name, true, at))
        return false;
    at += note->class_length + 1;
    if (!method_reading_text(&reading->name, false, at))
        return false;
    at += note->name_length + 1;
    if (!method_reading_text(&reading->signature, false, at))
        return false;
    at += note->signature_length + 1;
    note->lines_bytes = (uint32_t)method_reading_lines(reading, (uint8_t *)at, lines_room(reading));
    return true;
}

static uint64_t unreadable(struct seen_methods *seen)
{
    seen_count(&seen->unreadable, 1);
    return SEEN_UNKNOWN;
}

static uint64_t over_budget(struct seen_methods *seen)
{
    seen_count(&seen->over_budget, 1);
    return SEEN_OVER_BUDGET;
}

/* The entry is ours alone until its place is taken, and unknown to all until it has its number. */
static uint64_t publish(struct seen_methods *seen, struct seen_note *note, uint32_t at,
                        const struct wanted *wanted, uint32_t held_bytes)
{
    struct seen_entry *entry = &seen->entries[at];
    uint64_t number = atomic_fetch_add_explicit(&seen->last_number, 1, memory_order_relaxed) + 1;
    entry->method = wanted->method;
    entry->identity = wanted->identity;
    entry->hash = wanted->hash;
    entry->class_hash = wanted->class_hash;
    entry->held_bytes = held_bytes;
    atomic_store_explicit(&entry->checked, wanted->moment, memory_order_relaxed);
    atomic_store_explicit(&entry->met, atomic_load_explicit(&seen->chunk, memory_order_relaxed),
                          memory_order_relaxed);
    take_place(seen, at, wanted->place_hash);
    note->number = number;
    note->entry = at;
    note->next = atomic_load_explicit(&seen->notes, memory_order_relaxed);
    /* Release; partner: the acquire in seen_methods_collect. Forbidden: a note or an entry that is
     * not filled. */
    while (!atomic_compare_exchange_weak_explicit(&seen->notes, &note->next, note,
                                                  memory_order_release, memory_order_relaxed))
        continue;
    atomic_store_explicit(&entry->number, number, memory_order_release);
    seen_count(&seen->seen, 1);
    if (wanted->was_another)
        seen_count(&seen->reused, 1);
    return number;
}

/* What the bound counts; false: there is no room for it. */
static bool hold(struct seen_methods *seen, uint32_t bytes)
{
    int64_t held = atomic_fetch_add_explicit(&seen->held_bytes, bytes, memory_order_relaxed);
    if (held + bytes <= seen->bound_bytes)
        return true;
    atomic_fetch_sub_explicit(&seen->held_bytes, bytes, memory_order_relaxed);
    return false;
}

/* Inside `copying`: the half of the handover that was chosen stays. */
static uint64_t take_down(struct seen_methods *seen, const struct wanted *wanted)
{
    const struct method_reading *reading = &wanted->reading;
    struct seen_note *note =
        take_room(seen, sizeof *note + texts_bytes(reading) + lines_room(reading));
    if (note == NULL)
        return over_budget(seen);
    if (!fill_note(note, reading))
        return unreadable(seen);
    uint32_t held_bytes = (uint32_t)(SEEN_METHOD_BYTES + texts_bytes(reading)) +
                          SEEN_LINES_FACTOR * note->lines_bytes;
    if (!hold(seen, held_bytes))
        return over_budget(seen);
    uint32_t free = take_free(seen);
    if (free != 0)
        return publish(seen, note, free - 1, wanted, held_bytes);
    atomic_fetch_sub_explicit(&seen->held_bytes, held_bytes, memory_order_relaxed);
    return over_budget(seen);
}

static uint64_t put_new(struct seen_methods *seen, struct wanted *wanted)
{
    if (!read_all(wanted))
        return unreadable(seen);
    if (atomic_load_explicit(&seen->held_bytes, memory_order_relaxed) + SEEN_METHOD_BYTES >
        seen->bound_bytes)
        return over_budget(seen);
    uint32_t epoch = handlers_enter(&seen->copying);
    uint64_t number = take_down(seen, wanted);
    handlers_leave(&seen->copying, epoch);
    return number;
}

/* A number that is the same only if no class was announced and no safepoint begun in between. Not a sum: a thread
 * may see the one count new and the other old. */
static uint64_t moment_of(const struct seen_methods *seen)
{
    uint64_t safepoints;
    /* Acquire; partner: the release in seen_methods_class_loaded. What is read below is read after
     * it: a class that is announced later makes the comparison one of before. */
    uint64_t announced = atomic_load_explicit(&seen->announced, memory_order_acquire);
    return safepoints_count(&safepoints) ? (announced << 32) + safepoints : SEEN_NEVER;
}

/* --- found before ----------------------------------------------------------------------------- */

static struct seen_recent *recent_of(const struct seen_methods *seen, const struct wanted *wanted)
{
    return &seen->recent[(wanted->place_hash >> 32) % SEEN_RECENT];
}

static uint64_t proof_of(const struct wanted *wanted, uint64_t number)
{
    return fold_multiply(wanted->place_hash ^ wanted->identity, fold_word(wanted->moment) ^ number);
}

/* A moment is of one chunk at most, so what is found here is marked as met already. The number, or 0. */
static uint64_t find_recent(const struct seen_methods *seen, const struct wanted *wanted)
{
    const struct seen_recent *recent = recent_of(seen, wanted);
    uint64_t number = atomic_load_explicit(&recent->number, memory_order_relaxed);
    /* Acquire; partner: the release in keep_recent. Forbidden: that the number comes to the drain in a
     * stack before its note does. */
    uint64_t proof = atomic_load_explicit(&recent->proof, memory_order_acquire);
    return number != 0 && proof == proof_of(wanted, number) ? number : 0;
}

static uint64_t keep_recent(struct seen_methods *seen, const struct wanted *wanted, uint64_t number)
{
    if (wanted->moment != SEEN_NEVER && number >= SEEN_FIRST) {
        struct seen_recent *recent = recent_of(seen, wanted);
        atomic_store_explicit(&recent->number, number, memory_order_relaxed);
        atomic_store_explicit(&recent->proof, proof_of(wanted, number), memory_order_release);
    }
    return number;
}

static struct wanted want(const struct seen_methods *seen, uintptr_t method)
{
    return (struct wanted){
        .method = method,
        .moment = moment_of(seen),
        .identity = method_reading_identity(method),
        .place_hash = seen_place_hash(method),
    };
}

_Static_assert(SEEN_FETCH_MAX <= METHOD_FETCH_MAX, "handed on");

void seen_methods_fetch(const struct seen_methods *seen, const uintptr_t *methods, int count)
{
    uintptr_t compared[SEEN_FETCH_MAX];
    int others = 0;
    for (int i = 0; i < count; i++) {
        uint64_t hash = seen_place_hash(methods[i]);
        __builtin_prefetch(&seen->recent[(hash >> 32) % SEEN_RECENT]);
        __builtin_prefetch((const void *)(methods[i] + (uintptr_t)layout.method_const));
    }
    for (int i = 0; i < count; i++) {
        struct wanted wanted = want(seen, methods[i]);
        if (find_recent(seen, &wanted) == 0)
            compared[others++] = methods[i];
    }
    method_reading_fetch(compared, others);
}

uint64_t seen_methods_put(struct seen_methods *seen, uintptr_t method)
{
    struct wanted wanted = want(seen, method);
    if (method % METHOD_ALIGNMENT != 0 || wanted.identity == 0)
        return unreadable(seen);
    uint64_t number = find_recent(seen, &wanted);
    if (number != 0)
        return number;
    number = find(seen, &wanted);
    return keep_recent(seen, &wanted, number != 0 ? number : put_new(seen, &wanted));
}
