#include "agent/classdef/family_table.h"

#include "floor/base/fold_hash.h"
#include "agent/mem/mem.h"
#include "floor/base/normalize.h"

#include <string.h>

#define PLACES     (2 * FAMILIES_MAX) /* of the index: never more than half full */
#define FOLD_ABOVE (FAMILIES_MAX / 4 * 3)
#define FOLD_DOWN  (FAMILIES_MAX / 2)

struct family_table {
    uint32_t count;
    uint16_t place[PLACES]; /* row by hash, linear probing; 0: free, "[other]" is not looked up */
    struct family_row row[FAMILIES_MAX];
};
_Static_assert(FAMILIES_MAX <= UINT16_MAX, "a row's number in a place");

struct family_table *family_table_create(void)
{
    struct family_table *table = mem_map(COMPONENT_CLASS_DEFINITIONS, sizeof *table);
    if (table == NULL)
        return NULL;
    strcpy(table->row[0].name, "[other]");
    table->row[0].length = (uint16_t)strlen(table->row[0].name);
    table->count = 1;
    return table;
}

void family_table_destroy(struct family_table *table)
{
    if (table != NULL)
        mem_unmap(COMPONENT_CLASS_DEFINITIONS, table, sizeof *table);
}

/* The place of the family, or the free one where it would go. */
static uint16_t *place_of(struct family_table *table, const char *family, size_t length)
{
    uint32_t at = (uint32_t)fold_hash(family, length, 0) % PLACES;
    for (;; at = (at + 1) % PLACES) {
        const struct family_row *row = &table->row[table->place[at]];
        if (table->place[at] == 0 ||
            (row->length == length && memcmp(row->name, family, length) == 0))
            return &table->place[at];
    }
}

static struct family_row *row_of(struct family_table *table, const char *family, size_t length)
{
    uint16_t *place = place_of(table, family, length);
    if (*place != 0 || table->count == FAMILIES_MAX)
        return &table->row[*place];
    *place = (uint16_t)table->count++;
    struct family_row *row = &table->row[*place];
    *row = (struct family_row){.length = (uint16_t)length};
    memcpy(row->name, family, length);
    return row;
}

struct family_row *family_table_loaded(struct family_table *table, const char *family,
                                       size_t length, int64_t bytes)
{
    struct family_row *row = family != NULL ? row_of(table, family, length) : &table->row[0];
    row->loaded++;
    row->unreported++;
    row->changed = true;
    if (bytes >= 0) {
        row->bytes += bytes;
        row->sized++;
    }
    return row;
}

void family_table_unloaded(struct family_table *table, const char *family, size_t length)
{
    struct family_row *row = &table->row[family != NULL ? *place_of(table, family, length) : 0];
    row->unloaded++;
    row->changed = true;
}

uint32_t family_table_count(const struct family_table *table)
{
    return table->count;
}

struct family_row *family_table_at(struct family_table *table, uint32_t row)
{
    return &table->row[row];
}

void family_table_sum(const struct family_table *table, int64_t *loaded, int64_t *unloaded,
                      int64_t *bytes)
{
    *loaded = *unloaded = *bytes = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        *loaded += table->row[i].loaded;
        *unloaded += table->row[i].unloaded;
        *bytes += table->row[i].bytes;
    }
}

const struct family_row *family_table_grown(struct family_table *table, int64_t *loaded,
                                            int64_t *net)
{
    const struct family_row *most = NULL;
    *loaded = *net = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        struct family_row *row = &table->row[i];
        int64_t row_loaded = row->loaded - row->loaded_before;
        int64_t row_net = row->loaded - row->unloaded - row->net_before;
        row->loaded_before = row->loaded;
        row->net_before = row->loaded - row->unloaded;
        if (row_loaded == 0)
            continue;
        if (most == NULL || row_net > *net || (row_net == *net && row_loaded > *loaded)) {
            most = row;
            *loaded = row_loaded;
            *net = row_net;
        }
    }
    return most;
}

/* --- giving rows back ------------------------------------------------------------------------- */

static void give_to_other(struct family_table *table, const struct family_row *row)
{
    struct family_row *other = &table->row[0];
    other->loaded += row->loaded;
    other->unloaded += row->unloaded;
    other->bytes += row->bytes;
    other->sized += row->sized;
    other->loaded_before += row->loaded_before;
    other->net_before += row->net_before;
    other->unreported += row->unreported;
    other->changed = true;
}

/* Families of at most so many classes that have been quiet. */
static uint32_t fold_small(struct family_table *table, int64_t largest)
{
    uint32_t kept = 1, count = table->count;
    for (uint32_t i = 1; i < count; i++) {
        struct family_row *row = &table->row[i];
        if (!row->changed && row->loaded <= largest && table->count - (i - kept) > FOLD_DOWN)
            give_to_other(table, row);
        else if (kept++ < i)
            table->row[kept - 1] = *row;
    }
    table->count = kept;
    memset(table->place, 0, sizeof table->place);
    for (uint32_t i = 1; i < kept; i++)
        *place_of(table, table->row[i].name, table->row[i].length) = (uint16_t)i;
    return count - kept;
}

uint32_t family_table_fold(struct family_table *table)
{
    uint32_t folded = 0;
    if (table->count > FOLD_ABOVE) {
        for (int64_t largest = 1; table->count > FOLD_DOWN && largest < 1000; largest *= 8)
            folded += fold_small(table, largest);
    }
    for (uint32_t i = 0; i < table->count; i++)
        table->row[i].changed = false;
    return folded;
}
