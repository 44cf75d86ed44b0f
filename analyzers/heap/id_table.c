#include "analyzers/heap/id_table.h"

#include <stdlib.h>
#include <string.h>

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
