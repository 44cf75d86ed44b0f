/*
 * id_table: a map from 64-bit identifiers to 32-bit numbers; open addressing, grows, nothing is
 * taken out. Readers may be several while nobody writes.
 */
#ifndef ANALYZERS_HEAP_ID_TABLE_H
#define ANALYZERS_HEAP_ID_TABLE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
