/*
 * stem_table: the stems a census has seen, and which of them a class name belongs to.
 *
 *   stem_table_init -> stem_table_find -> (stem_table_insert) ... -> stem_table_free
 *
 * Open addressing, linear probing, at most half full; no stem leaves but in a sweep. A stem found
 * or inserted stays where it is until it is swept. Calling context: one thread per table.
 */
#ifndef ANALYZERS_CLASSES_STEM_TABLE_H
#define ANALYZERS_CLASSES_STEM_TABLE_H

#include "analyzers/classes/family.h"
#include "analyzers/classes/shape.h"

struct stem {
    uint64_t hash;
    const struct family *family; /* NULL: no row matches */
    int64_t unloads;
    struct shape shape;
    uint16_t stem_len;
    uint16_t example_at; /* offsets of two more C strings in text */
    uint16_t source_at;
    char text[];
};

struct stem_table {
    size_t max_stems;
    size_t slot_count; /* power of two, at least twice max_stems */
    struct stem **slots;
    size_t stem_count;
};

/* A class on its way to its stem. */
struct arrival {
    struct span name;
    char stem[STEM_MAX];
    size_t stem_len;
    uint64_t stem_hash;
    struct name_parts parts;
};

/* False when out of memory. */
bool stem_table_init(struct stem_table *table, size_t max_stems);
/* The stem of a name, or NULL; *arrival is filled for stem_table_insert and shape_add. name: not
 * empty. */
struct stem *stem_table_find(const struct stem_table *table, struct span name,
                             struct arrival *arrival);
/* After a find that found nothing. NULL when the table is full or memory is out. */
struct stem *stem_table_insert(struct stem_table *table, const struct arrival *arrival,
                               struct span source);
/* Takes out the stems that were loaded at most so often and gives each to evict, which owns it
 * then. False, and nothing happened, when out of memory. */
bool stem_table_sweep(struct stem_table *table, int64_t loads,
                      void (*evict)(void *context, struct stem *stem), void *context);
/* Frees the stems; the table is empty and usable. */
void stem_table_clear(struct stem_table *table);
void stem_table_free(struct stem_table *table);
void stem_destroy(struct stem *stem); /* NULL is fine */

/* 64 well mixed bits. */
uint64_t stem_hash(struct span text);

#endif
