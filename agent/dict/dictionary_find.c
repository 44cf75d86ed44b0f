/* Signal context: allocates nothing, locks nothing. */
#include "agent/dict/dictionary.h"

#include "floor/base/fold_hash.h"

uint32_t dictionary_find(const struct dictionary *dictionary, const char *text, size_t length)
{
    uint64_t hash = fold_hash(text, length, 0);
    /* Every acquire here has its partner in dictionary.c, the release of whoever put the level or
     * the text there. Forbidden: a pointer is seen before what it points to. */
    const struct dictionary_row *level =
        atomic_load_explicit(&dictionary->top, memory_order_acquire);
    for (unsigned depth = 0; level != NULL && depth < DICTIONARY_LEVELS_MAX; depth++) {
        const struct dictionary_row *row = &level[dictionary_row_of(hash, depth)];
        for (int i = 0; i < DICTIONARY_CELLS; i++) {
            const struct dictionary_text *entry =
                atomic_load_explicit(&row->cell[i], memory_order_acquire);
            if (entry == NULL)
                return 0;
            if (dictionary_is_text(entry, hash, text, length))
                return entry->id;
        }
        level = atomic_load_explicit(&row->down, memory_order_acquire);
    }
    return 0;
}
