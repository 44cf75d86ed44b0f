/*
 * object_ids: from the address of an object to a dense number, in 1.3 bytes an object.
 *
 * HotSpot's identifiers are addresses, aligned to 8 bytes and close together. So 512 bytes of heap
 * (64 places of 8 bytes) share a word:
 *
 *      bits   64: which places are the start of an object
 *      first  32: the number of the first object of the word; others count on by their bits
 *      row    32: where the rows of references of the word's objects begin (heap.h)
 *
 * and 8 MB of heap share a region, which is made when its first object is seen. Words that were not touched cost
 * address space only. Numbers follow addresses, so that neighbours have close numbers.
 *
 *   object_ids_create -> object_ids_add (any thread) ... -> object_ids_number -> object_ids_find
 *
 * A dump whose identifiers are scattered over the whole address space would need a page for each
 * of them: a limit of regions is given, and beyond it object_ids_add says so. Any thread may add
 * and find; the rest is for one.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define REGION_WORDS_LOG2 14
#define REGION_WORDS      (1u << REGION_WORDS_LOG2)
#define REGION_UNITS_LOG2 (REGION_WORDS_LOG2 + 6)
#define NO_OBJECT         UINT32_MAX

struct id_word {
    _Atomic uint64_t bits;
    uint32_t first;
    _Atomic uint32_t row; /* bytes of its rows until object_ids_number, then their beginning */
};
_Static_assert(sizeof(struct id_word) == 16, "four to a cache line");

struct id_region {
    uint64_t key; /* unit >> REGION_UNITS_LOG2 */
    uint32_t ordinal;
    uint32_t first;    /* number of its first object */
    uint64_t row_base; /* of its rows among all */
    uint64_t row_bytes;
    struct id_word words[REGION_WORDS];
};

struct object_ids {
    unsigned shift;   /* identifier >> shift: a unit */
    uint32_t limit;   /* of regions */
    atomic_flag lock; /* held while a region is made */
    _Atomic uint32_t region_count;
    struct id_region *_Atomic *slots;
    uint32_t slot_mask;
    struct id_region **regions; /* as made; by address after object_ids_number */
    uint32_t count;             /* objects, after object_ids_number */
    uint64_t row_bytes;         /* of all rows */
    uint32_t *word_of;          /* for each 64th number: ordinal << REGION_WORDS_LOG2 | word */
};

bool object_ids_create(struct object_ids *ids, uint64_t file_bytes);
void object_ids_destroy(struct object_ids *ids);

enum id_added { ID_ADDED, ID_SCATTERED, ID_NO_MEMORY };
/* Objects of one word, the one of this unit. known: how many of them were there already. region:
 * where the last one was; NULL at first. */
enum id_added object_ids_add(struct object_ids *ids, uint64_t unit, uint64_t bits,
                             struct id_region **region, uint32_t *known);
/* More bytes for the rows of this unit's word; false: more than can be numbered. */
bool object_ids_add_bytes(struct object_ids *ids, uint64_t unit, struct id_region **region,
                          uint64_t bytes);
void object_ids_clear_bytes(struct object_ids *ids);
/* Numbers what was added, from first_number on. False: too many, or no memory. */
bool object_ids_number(struct object_ids *ids, uint32_t first_number);

#ifdef MACHINE_BIT_COUNT /* analyzers/heap/<architecture>/bit_count.h, where the compiler has no instruction for it */
#include MACHINE_BIT_COUNT
#else
/* Set bits. */
static inline uint32_t bit_count(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}
#endif

static inline struct id_region *object_ids_region(const struct object_ids *ids, uint64_t key)
{
    for (uint32_t slot = (uint32_t)key & ids->slot_mask;; slot = (slot + 1) & ids->slot_mask) {
        struct id_region *region = atomic_load_explicit(&ids->slots[slot], memory_order_acquire);
        if (region == NULL || region->key == key)
            return region;
    }
}

static inline struct id_word *object_ids_word(const struct object_ids *ids, uint64_t unit)
{
    struct id_region *region = object_ids_region(ids, unit >> REGION_UNITS_LOG2);
    return region != NULL ? &region->words[unit >> 6 & (REGION_WORDS - 1)] : NULL;
}

/* NO_OBJECT when nothing begins there. */
static inline uint32_t id_word_number(const struct id_word *word, uint64_t unit)
{
    uint64_t bit = UINT64_C(1) << (unit & 63);
    uint64_t bits = atomic_load_explicit(&word->bits, memory_order_relaxed);
    if (!(bits & bit))
        return NO_OBJECT;
    return word->first + bit_count(bits & (bit - 1));
}

static inline uint32_t object_ids_find(const struct object_ids *ids, uint64_t unit)
{
    const struct id_word *word = object_ids_word(ids, unit);
    return word != NULL ? id_word_number(word, unit) : NO_OBJECT;
}

/* Back: which word, and which unit, has the number (one that was given). */
struct id_place {
    struct id_region *region;
    struct id_word *word;
    uint64_t unit;
};
struct id_place object_ids_place(const struct object_ids *ids, uint32_t number);

/*
 * id_table: a map from 64-bit identifiers to 32-bit numbers; open addressing, grows, nothing is
 * taken out. Several threads may read while none writes.
 */
#define ID_TABLE_NONE UINT32_MAX

struct id_table {
    struct id_table_slot {
        uint64_t id;
        uint32_t number; /* + 1; 0: free */
    } * slots;
    uint32_t count;
    unsigned log2;
};

/* False: no memory. A known id gets the new number. */
bool id_table_put(struct id_table *table, uint64_t id, uint32_t number);
uint32_t id_table_get(const struct id_table *table, uint64_t id); /* ID_TABLE_NONE */
void id_table_free(struct id_table *table);
