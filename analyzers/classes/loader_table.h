/*
 * loader_table: the class loaders of a JVM, folded by type of loader.
 *
 *   loader_table_parse -> event -> loader_table_free
 *
 * Types beyond LOADER_TABLE_TYPES_MAX are in the totals only. Any thread.
 */
#pragma once

#include "analyzers/model/event.h"
#include "analyzers/parse/class_tables.h"

/*
 * loader_leak: one application loaded k times, found from VM.classloader_stats alone.
 *
 * A redeployment that leaks leaves the old deployment's class loader behind: several loaders of one
 * type, each with about the same, large number of classes. A generator's loaders hold one class or
 * a few; an application server with five different applications has five different counts. So rows
 * of a type are put together when their class counts differ by at most 10 %, and a group counts
 * from LOADER_LEAK_COPIES_MIN copies with LOADER_LEAK_CLASSES_MIN classes each.
 *
 * A loader whose data is gone but whose object lives (JDK 8, address 0) has no classes and counts
 * as nothing. Several loaders with the same count may still be several applications built alike:
 * therefore "copies", a number to look at, and a finding only from three on.
 *
 *   loader_leak {0} -> loader_leak_add for each row -> loader_leak_worst
 *
 * Plain data; beyond LOADER_LEAK_GROUPS_MAX groups the smallest are dropped and counted. Any
 * thread.
 */
#define LOADER_LEAK_GROUPS_MAX  64
#define LOADER_LEAK_CLASSES_MIN 20
#define LOADER_LEAK_COPIES_MIN  3

struct loader_copies {
    char type[EVENT_NAME_MAX];
    int64_t copies;
    int64_t classes;     /* of all copies */
    int64_t chunk_bytes; /* of all copies: what each redeployment costs is a copy's share */
};

struct loader_leak {
    int group_count;
    struct loader_copies group[LOADER_LEAK_GROUPS_MAX];
    int64_t dropped;
};

void loader_leak_add(struct loader_leak *leak, const struct loader_stats_row *row);
/* The group with the most bytes in copies beyond the first; NULL when none has enough copies. */
const struct loader_copies *loader_leak_worst(const struct loader_leak *leak);

#define LOADER_TABLE_TYPES_MAX 512

struct loader_table {
    struct loaders_event event; /* rows: the EVENT_ROWS_MAX types with the most loaders */
    int type_count;
    struct loader_row *types; /* most loaders first */
    int64_t unknown_lines;
};

/* leak: gets every row, too; NULL: nobody asks. PARSE_INCOMPLETE when the total line is missing: the
 * counts are too low. On any result the table must be freed. */
enum parse_result loader_table_parse(struct loader_table *table, struct span text,
                                     struct loader_leak *leak);
/* The same of `jmap -clstats` of JDK 8; bytes are Metaspace of the loader, as far as it is used. */
enum parse_result loader_table_parse_jmap(struct loader_table *table, struct span text,
                                          struct loader_leak *leak);
void loader_table_free(struct loader_table *table);
