#include "agent/dict/dictionary.h"

#include "floor/base/fold_hash.h"

struct dictionary *dictionary_create(enum component component, uint32_t limit)
{
    struct dictionary *dictionary = mem_alloc(component, sizeof *dictionary);
    if (dictionary == NULL)
        return NULL;
    dictionary->component = component;
    dictionary->limit = limit;
    return dictionary;
}

/* --- put -------------------------------------------------------------------------------------- */

/* The rows of the level that hangs at *place, made when there is none. */
static struct dictionary_row *level_at(enum component component, unsigned depth,
                                       _Atomic(struct dictionary_row *) *place)
{
    /* Acquire; partner: the release of another thread's exchange below. Forbidden: its cells are
     * seen before they are zero. */
    struct dictionary_row *rows = atomic_load_explicit(place, memory_order_acquire);
    if (rows != NULL)
        return rows;
    struct dictionary_row *own = mem_alloc(component, dictionary_rows_at(depth) * sizeof *own);
    if (own == NULL)
        return NULL;
    if (atomic_compare_exchange_strong_explicit(place, &rows, own, memory_order_acq_rel,
                                                memory_order_acquire))
        return own;
    mem_free(own);
    return rows;
}

/* One of the limit's places, before the text is seen by anybody: so there are never more. */
static bool reserve(struct dictionary *dictionary)
{
    uint32_t texts = atomic_load_explicit(&dictionary->texts, memory_order_relaxed);
    do {
        if (texts >= dictionary->limit)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&dictionary->texts, &texts, texts + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void drop(struct dictionary *dictionary, struct dictionary_text *entry)
{
    if (entry == NULL)
        return;
    mem_free(entry);
    atomic_fetch_sub_explicit(&dictionary->texts, 1, memory_order_relaxed);
}

static struct dictionary_text *make(struct dictionary *dictionary, uint64_t hash, const char *text,
                                    size_t length)
{
    if (length > UINT32_MAX - sizeof(struct dictionary_text) || !reserve(dictionary))
        return NULL;
    struct dictionary_text *entry = mem_alloc(dictionary->component, sizeof *entry + length + 1);
    if (entry == NULL) {
        atomic_fetch_sub_explicit(&dictionary->texts, 1, memory_order_relaxed);
        return NULL;
    }
    entry->hash = hash;
    entry->id = atomic_fetch_add_explicit(&dictionary->last_id, 1, memory_order_relaxed) + 1;
    entry->length = (uint32_t)length;
    memcpy(entry->bytes, text, length);
    return entry;
}

/* What is in the cell after we tried to put *own there, which is made when it is needed. */
static struct dictionary_text *fill(struct dictionary *dictionary,
                                    _Atomic(struct dictionary_text *) *cell,
                                    struct dictionary_text **own, uint64_t hash, const char *text,
                                    size_t length)
{
    /* Acquire; partner: the release of another thread's exchange below. Forbidden: a text is
     * compared before it is written. */
    struct dictionary_text *there = atomic_load_explicit(cell, memory_order_acquire);
    if (there != NULL)
        return there;
    if (*own == NULL && (*own = make(dictionary, hash, text, length)) == NULL)
        return NULL;
    if (!atomic_compare_exchange_strong_explicit(cell, &there, *own, memory_order_acq_rel,
                                                 memory_order_acquire))
        return there;
    there = *own;
    *own = NULL;
    return there;
}

static uint32_t put(struct dictionary *dictionary, struct dictionary_text **own, const char *text,
                    size_t length)
{
    uint64_t hash = fold_hash(text, length, 0);
    _Atomic(struct dictionary_row *) *place = &dictionary->top;
    for (unsigned depth = 0; depth < DICTIONARY_LEVELS_MAX; depth++) {
        struct dictionary_row *rows = level_at(dictionary->component, depth, place);
        if (rows == NULL)
            return 0;
        struct dictionary_row *row = &rows[dictionary_row_of(hash, depth)];
        for (int i = 0; i < DICTIONARY_CELLS; i++) {
            const struct dictionary_text *there =
                fill(dictionary, &row->cell[i], own, hash, text, length);
            if (there == NULL)
                return 0;
            if (dictionary_is_text(there, hash, text, length))
                return there->id;
        }
        place = &row->down;
    }
    return 0;
}

uint32_t dictionary_put(struct dictionary *dictionary, const char *text, size_t length)
{
    struct dictionary_text *own = NULL;
    uint32_t id = put(dictionary, &own, text, length);
    drop(dictionary, own); /* made, and then another thread was first with the same text */
    if (id == 0)
        atomic_fetch_add_explicit(&dictionary->refused, 1, memory_order_relaxed);
    return id;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* At most DICTIONARY_LEVELS_MAX calls deep. */
static void visit_level(const struct dictionary_row *rows, unsigned depth,
                        dictionary_visit_fn *visit, void *context)
{
    for (unsigned i = 0; rows != NULL && i < dictionary_rows_at(depth); i++) {
        const struct dictionary_row *row = &rows[i];
        for (int j = 0; j < DICTIONARY_CELLS; j++) {
            const struct dictionary_text *entry =
                atomic_load_explicit(&row->cell[j], memory_order_acquire);
            if (entry != NULL)
                visit(context, entry->id, entry->bytes, entry->length);
        }
        visit_level(atomic_load_explicit(&row->down, memory_order_acquire), depth + 1, visit,
                    context);
    }
}

void dictionary_each(const struct dictionary *dictionary, dictionary_visit_fn *visit, void *context)
{
    visit_level(atomic_load_explicit(&dictionary->top, memory_order_acquire), 0, visit, context);
}

uint32_t dictionary_size(const struct dictionary *dictionary)
{
    return atomic_load_explicit(&dictionary->texts, memory_order_relaxed);
}

int64_t dictionary_refused(const struct dictionary *dictionary)
{
    return atomic_load_explicit(&dictionary->refused, memory_order_relaxed);
}

static void free_level(struct dictionary_row *rows, unsigned depth)
{
    for (unsigned i = 0; rows != NULL && i < dictionary_rows_at(depth); i++) {
        struct dictionary_row *row = &rows[i];
        for (int j = 0; j < DICTIONARY_CELLS; j++)
            mem_free(atomic_load_explicit(&row->cell[j], memory_order_relaxed));
        free_level(atomic_load_explicit(&row->down, memory_order_relaxed), depth + 1);
    }
    mem_free(rows);
}

void dictionary_clear(struct dictionary *dictionary)
{
    free_level(atomic_load_explicit(&dictionary->top, memory_order_acquire), 0);
    atomic_store_explicit(&dictionary->texts, 0, memory_order_relaxed);
    atomic_store_explicit(&dictionary->last_id, 0, memory_order_relaxed);
    /* Release: the counters are zero for whoever sees the dictionary empty. */
    atomic_store_explicit(&dictionary->top, NULL, memory_order_release);
}

void dictionary_destroy(struct dictionary *dictionary)
{
    if (dictionary == NULL)
        return;
    dictionary_clear(dictionary);
    mem_free(dictionary);
}
