/*
 * loader_table: the rows of `VM.classloader_stats`, folded by type of loader.
 *
 *   loader_table_parse -> event -> loader_table_free
 *
 * Types beyond LOADER_TABLE_TYPES_MAX are in the totals only. Any thread.
 */
#ifndef ANALYZERS_CLASSES_LOADER_TABLE_H
#define ANALYZERS_CLASSES_LOADER_TABLE_H

#include "analyzers/model/event.h"

#define LOADER_TABLE_TYPES_MAX 512

struct loader_table {
    struct loaders_event event; /* rows: the EVENT_ROWS_MAX types with the most loaders */
    int type_count;
    struct loader_row *types; /* most loaders first */
};

/* PARSE_INCOMPLETE when the total line is missing: the counts are too low. On any result the table
 * must be freed. */
enum parse_result loader_table_parse(struct loader_table *table, struct span text);
void loader_table_free(struct loader_table *table);

#endif
