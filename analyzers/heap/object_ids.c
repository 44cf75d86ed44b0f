#include "analyzers/heap/object_ids.h"

#include <stdlib.h>
#include <string.h>

#define REGIONS_MAX (1u << 17) /* a TB of heap */

bool object_ids_create(struct object_ids *ids, uint64_t file_bytes)
{
    memset(ids, 0, sizeof *ids);
    atomic_flag_clear(&ids->lock);
    ids->shift = 3;
    /* 4 GB of heap at least; a region that holds next to nothing is the exception. */
    uint64_t limit = 512 + file_bytes / 65536;
    ids->limit = limit < REGIONS_MAX ? (uint32_t)limit : REGIONS_MAX;
    ids->slot_mask = 1;
    while (ids->slot_mask < 2 * ids->limit)
        ids->slot_mask = ids->slot_mask << 1 | 1;
    ids->slots = calloc((size_t)ids->slot_mask + 1, sizeof *ids->slots);
    ids->regions = calloc(ids->limit, sizeof *ids->regions);
    return ids->slots != NULL && ids->regions != NULL;
}

void object_ids_destroy(struct object_ids *ids)
{
    for (uint32_t i = 0; i < ids->region_count; i++)
        free(ids->regions[i]);
    free((void *)(uintptr_t)ids->slots);
    free(ids->regions);
    free(ids->word_of);
    memset(ids, 0, sizeof *ids);
}

static struct id_region *make_region(struct object_ids *ids, uint64_t key, enum id_added *why)
{
    while (atomic_flag_test_and_set_explicit(&ids->lock, memory_order_acquire))
        ;
    struct id_region *region = object_ids_region(ids, key);
    *why = ID_SCATTERED;
    if (region == NULL && ids->region_count < ids->limit) {
        region = calloc(1, sizeof *region);
        *why = ID_NO_MEMORY;
        if (region != NULL) {
            region->key = key;
            uint32_t slot = (uint32_t)key & ids->slot_mask;
            while (ids->slots[slot] != NULL)
                slot = (slot + 1) & ids->slot_mask;
            /* Pairs with the acquire of object_ids_region: its key is seen with it. */
            atomic_store_explicit(&ids->slots[slot], region, memory_order_release);
            ids->regions[ids->region_count++] = region;
        }
    }
    atomic_flag_clear_explicit(&ids->lock, memory_order_release);
    return region;
}

enum id_added object_ids_add(struct object_ids *ids, uint64_t unit, uint64_t bits,
                             struct id_region **region, uint32_t *known)
{
    uint64_t key = unit >> REGION_UNITS_LOG2;
    enum id_added why;
    if (*region == NULL || (*region)->key != key) {
        *region = object_ids_region(ids, key);
        if (*region == NULL)
            *region = make_region(ids, key, &why);
        if (*region == NULL)
            return why;
    }
    struct id_word *word = &(*region)->words[unit >> 6 & (REGION_WORDS - 1)];
    uint64_t before = atomic_fetch_or_explicit(&word->bits, bits, memory_order_relaxed);
    *known = before & bits ? bit_count(before & bits) : 0;
    return ID_ADDED;
}

bool object_ids_add_bytes(struct object_ids *ids, uint64_t unit, struct id_region **region,
                          uint64_t bytes)
{
    uint64_t key = unit >> REGION_UNITS_LOG2;
    if (*region == NULL || (*region)->key != key)
        *region = object_ids_region(ids, key);
    if (*region == NULL || bytes > UINT32_MAX / 2)
        return false;
    struct id_word *word = &(*region)->words[unit >> 6 & (REGION_WORDS - 1)];
    uint32_t before = atomic_fetch_add_explicit(&word->row, (uint32_t)bytes, memory_order_relaxed);
    return before < UINT32_MAX / 2;
}

void object_ids_clear_bytes(struct object_ids *ids)
{
    for (uint32_t i = 0; i < ids->region_count; i++) {
        struct id_region *region = ids->regions[i];
        for (uint32_t w = 0; w < REGION_WORDS; w++) {
            if (region->words[w].bits != 0)
                region->words[w].row = 0;
        }
    }
}

static int by_key(const void *a, const void *b)
{
    const struct id_region *x = *(struct id_region *const *)a, *y = *(struct id_region *const *)b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static bool number_region(struct id_region *region, uint64_t *number, uint64_t *row_bytes)
{
    region->first = (uint32_t)*number;
    region->row_base = *row_bytes;
    uint64_t bytes = 0;
    for (uint32_t w = 0; w < REGION_WORDS; w++) {
        struct id_word *word = &region->words[w];
        if (word->bits == 0)
            continue; /* not even touched */
        uint32_t own = word->row;
        word->first = (uint32_t)*number;
        if (bytes > UINT32_MAX)
            return false;
        word->row = (uint32_t)bytes;
        bytes += own;
        *number += bit_count(word->bits);
        if (*number >= NO_OBJECT)
            return false;
    }
    region->row_bytes = bytes;
    *row_bytes += bytes;
    return true;
}

bool object_ids_number(struct object_ids *ids, uint32_t first_number)
{
    uint32_t count = ids->region_count;
    if (count > 0)
        qsort(ids->regions, count, sizeof ids->regions[0], by_key);
    uint64_t number = first_number;
    for (uint32_t i = 0; i < count; i++) {
        ids->regions[i]->ordinal = i;
        if (!number_region(ids->regions[i], &number, &ids->row_bytes))
            return false;
    }
    ids->count = (uint32_t)(number - first_number);
    ids->word_of = calloc((size_t)number / 64 + 2, sizeof *ids->word_of);
    if (ids->word_of == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t w = 0; w < REGION_WORDS; w++) {
            const struct id_word *word = &ids->regions[i]->words[w];
            if (word->bits == 0)
                continue;
            uint32_t last = word->first + bit_count(word->bits) - 1;
            /* At most two multiples of 64 are in a word of 64. */
            for (uint32_t k = (word->first + 63) / 64; k <= last / 64; k++)
                ids->word_of[k] = i << REGION_WORDS_LOG2 | w;
            if (word->first == first_number)
                ids->word_of[first_number / 64] = i << REGION_WORDS_LOG2 | w;
        }
    }
    return true;
}

struct id_place object_ids_place(const struct object_ids *ids, uint32_t number)
{
    uint32_t at = ids->word_of[number / 64], ordinal = at >> REGION_WORDS_LOG2;
    struct id_place place = {.region = ids->regions[ordinal]};
    uint32_t w = at & (REGION_WORDS - 1);
    for (;; w++) {
        if (w == REGION_WORDS) {
            w = 0;
            place.region = ids->regions[++ordinal];
        }
        place.word = &place.region->words[w];
        uint64_t bits = place.word->bits;
        uint32_t count = bit_count(bits);
        if (number - place.word->first < count)
            break;
    }
    uint64_t bits = place.word->bits;
    for (uint32_t k = number - place.word->first; k > 0; k--)
        bits &= bits - 1;
    place.unit =
        place.region->key << REGION_UNITS_LOG2 | (uint64_t)w << 6 | (uint64_t)__builtin_ctzll(bits);
    return place;
}

/* --- table of ids ----------------------------------------------------------------------------- */

static uint32_t slot_of(const struct id_table *table, uint64_t id)
{
    return (uint32_t)(id * UINT64_C(0x9E3779B97F4A7C15) >> (64 - table->log2));
}

static struct id_table_slot *find(const struct id_table *table, uint64_t id)
{
    uint32_t mask = (UINT32_C(1) << table->log2) - 1;
    for (uint32_t i = slot_of(table, id);; i = (i + 1) & mask) {
        struct id_table_slot *slot = &table->slots[i];
        if (slot->number == 0 || slot->id == id)
            return slot;
    }
}

static bool grow(struct id_table *table)
{
    struct id_table larger = {.log2 = table->slots == NULL ? 10 : table->log2 + 1,
                              .count = table->count};
    if (larger.log2 > 31)
        return false;
    larger.slots = calloc((size_t)1 << larger.log2, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; table->slots != NULL && i < (size_t)1 << table->log2; i++) {
        if (table->slots[i].number != 0)
            *find(&larger, table->slots[i].id) = table->slots[i];
    }
    free(table->slots);
    *table = larger;
    return true;
}

bool id_table_put(struct id_table *table, uint64_t id, uint32_t number)
{
    if ((table->slots == NULL || table->count + 1 > UINT32_C(3) << (table->log2 - 2)) &&
        !grow(table))
        return false;
    struct id_table_slot *slot = find(table, id);
    table->count += slot->number == 0;
    *slot = (struct id_table_slot){.id = id, .number = number + 1};
    return true;
}

uint32_t id_table_get(const struct id_table *table, uint64_t id)
{
    return table->slots == NULL ? ID_TABLE_NONE : find(table, id)->number - 1;
}

void id_table_free(struct id_table *table)
{
    free(table->slots);
    memset(table, 0, sizeof *table);
}
