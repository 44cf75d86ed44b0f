#include "analyzers/classes/loader_table.h"

#include "floor/base/span.h"

#include <stdlib.h>

static int most_loaders_first(const void *a, const void *b)
{
    const struct loader_row *left = a, *right = b;
    return compare_numbers(right->loaders, left->loaders)
               ?: compare_numbers(right->classes, left->classes) ?: strcmp(left->type, right->type);
}

/* Rows of one type tend to follow each other: the last hit is tried first. */
static struct loader_row *row_of(struct loader_table *table, struct span type, int *last)
{
    char name[EVENT_NAME_MAX];
    span_copy(type, name, sizeof name);
    if (*last < table->type_count && strcmp(table->types[*last].type, name) == 0)
        return &table->types[*last];
    for (int i = 0; i < table->type_count; i++) {
        if (strcmp(table->types[i].type, name) == 0) {
            *last = i;
            return &table->types[i];
        }
    }
    if (table->type_count == LOADER_TABLE_TYPES_MAX)
        return NULL;
    *last = table->type_count++;
    struct loader_row *row = &table->types[*last];
    memset(row, 0, sizeof *row);
    memcpy(row->type, name, sizeof name);
    return row;
}

static bool begin(struct loader_table *table)
{
    memset(table, 0, sizeof *table);
    table->types = calloc(LOADER_TABLE_TYPES_MAX, sizeof *table->types);
    return table->types != NULL;
}

static void add(struct loader_table *table, const struct loader_stats_row *stat,
                struct loader_leak *leak, int *last)
{
    int64_t loaders = stat->kind == LOADER_OWN ? 1 : 0;
    if (leak != NULL)
        loader_leak_add(leak, stat);
    table->event.loaders = saturated_add(table->event.loaders, loaders);
    table->event.classes = saturated_add(table->event.classes, stat->classes);
    table->event.chunk_bytes = saturated_add(table->event.chunk_bytes, stat->chunk_bytes);
    struct loader_row *row = row_of(table, stat->type, last);
    if (row == NULL)
        return;
    row->loaders = saturated_add(row->loaders, loaders);
    row->classes = saturated_add(row->classes, stat->classes);
    row->chunk_bytes = saturated_add(row->chunk_bytes, stat->chunk_bytes);
}

static enum parse_result end(struct loader_table *table, const struct line_cursor *lines)
{
    qsort(table->types, (size_t)table->type_count, sizeof *table->types, most_loaders_first);
    table->event.rows = table->types;
    table->event.row_count =
        table->type_count < EVENT_ROWS_MAX ? table->type_count : EVENT_ROWS_MAX;
    table->unknown_lines = lines->unknown_lines;
    return lines->result;
}

enum parse_result loader_table_parse(struct loader_table *table, struct span text,
                                     struct loader_leak *leak)
{
    struct classloader_stats stats;
    struct loader_stats_row row;
    int last = 0;
    if (!begin(table))
        return PARSE_INCOMPLETE;
    classloader_stats_begin(&stats, text);
    while (classloader_stats_next(&stats, &row))
        add(table, &row, leak, &last);
    if (stats.total.present) {
        table->event.loaders = stats.total.loaders;
        table->event.classes = stats.total.classes;
        table->event.chunk_bytes = stats.total.chunk_bytes;
    }
    return end(table, &stats.lines);
}

enum parse_result loader_table_parse_jmap(struct loader_table *table, struct span text,
                                          struct loader_leak *leak)
{
    struct jmap_clstats stats;
    struct loader_stats_row row;
    int last = 0;
    if (!begin(table))
        return PARSE_INCOMPLETE;
    jmap_clstats_begin(&stats, text);
    while (jmap_clstats_next(&stats, &row))
        add(table, &row, leak, &last);
    return end(table, &stats.lines);
}

void loader_table_free(struct loader_table *table)
{
    free(table->types);
    table->types = NULL;
    table->type_count = 0;
    table->event.row_count = 0;
}

/* --- copies of an application ----------------------------------------------------------------- */

static bool alike(const struct loader_copies *group, int64_t classes)
{
    int64_t mean = group->classes / group->copies;
    int64_t gap = mean > classes ? mean - classes : classes - mean;
    return gap <= mean / 10;
}

/* The JDK's own loaders exist once each and never leak. */
static bool is_own(struct span type)
{
    return span_starts_with(type, SPAN_LITERAL("<")) ||
           span_starts_with(type, SPAN_LITERAL("jdk.internal.loader.ClassLoaders$")) ||
           span_starts_with(type, SPAN_LITERAL("sun.misc.Launcher$"));
}

void loader_leak_add(struct loader_leak *leak, const struct loader_stats_row *row)
{
    if (row->kind != LOADER_OWN || row->classes < LOADER_LEAK_CLASSES_MIN || is_own(row->type))
        return;
    char type[EVENT_NAME_MAX];
    span_copy(row->type, type, sizeof type);
    struct loader_copies *into = NULL;
    for (int i = 0; i < leak->group_count && into == NULL; i++) {
        struct loader_copies *group = &leak->group[i];
        if (strcmp(group->type, type) == 0 && alike(group, row->classes))
            into = group;
    }
    if (into == NULL) {
        if (leak->group_count == LOADER_LEAK_GROUPS_MAX) {
            leak->dropped++;
            return;
        }
        into = &leak->group[leak->group_count++];
        memset(into, 0, sizeof *into);
        memcpy(into->type, type, sizeof type);
    }
    into->copies++;
    into->classes = saturated_add(into->classes, row->classes);
    into->chunk_bytes = saturated_add(into->chunk_bytes, row->chunk_bytes);
}

static int64_t extra_bytes(const struct loader_copies *group)
{
    return group->chunk_bytes / group->copies * (group->copies - 1);
}

const struct loader_copies *loader_leak_worst(const struct loader_leak *leak)
{
    const struct loader_copies *worst = NULL;
    for (int i = 0; i < leak->group_count; i++) {
        const struct loader_copies *group = &leak->group[i];
        if (group->copies >= LOADER_LEAK_COPIES_MIN &&
            (worst == NULL || extra_bytes(group) > extra_bytes(worst)))
            worst = group;
    }
    return worst;
}
