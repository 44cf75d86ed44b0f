/*
 * family_table: classes counted by family, in bounded memory.
 *
 *   family_table_create -> _loaded, _unloaded ... -> _at -> _fold -> _destroy
 *
 * FAMILIES_MAX families have a row of their own, the others share row 0, "[other]": no class is
 * left out of the sums. When the table is three quarters full, _fold gives the rows of the smallest
 * families that have been quiet to "[other]", so that a generator which comes late still gets one.
 * Classes that unload count for their family when it has a row; "[other]" may so have more unloads
 * than loads, as classes that were there before us do.
 *
 * Rows are mapped ahead and touched as they are used: 280 bytes a family. Not thread-safe: the
 * owner locks. No call waits for anything.
 */
#pragma once

#include "floor/base/normalize.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAMILIES_MAX 2048

struct family_row {
    char name[CLASS_FAMILY_MAX];
    uint16_t length;
    bool changed;                      /* since the last _fold */
    int64_t loaded, unloaded;          /* classes */
    int64_t bytes;                     /* of those loaded whose size is known */
    int64_t sized;                     /* how many these are */
    int64_t loaded_before, net_before; /* at the last family_table_grown */
    int64_t unreported;                /* loaded since a stack was taken; the owner's */
    int64_t next_stack_ms;             /* the owner's */
};

struct family_table;

struct family_table *family_table_create(void);
/* Never NULL: row 0 when there is no room, or family is NULL. Valid until the next _fold. bytes <
 * 0: not known. */
struct family_row *family_table_loaded(struct family_table *table, const char *family,
                                       size_t length, int64_t bytes);
/* NULL: a class without a name. */
void family_table_unloaded(struct family_table *table, const char *family, size_t length);
/* Rows in use, row 0 included. */
uint32_t family_table_count(const struct family_table *table);
struct family_row *family_table_at(struct family_table *table, uint32_t row);
/* The sums of all rows. */
void family_table_sum(const struct family_table *table, int64_t *loaded, int64_t *unloaded,
                      int64_t *bytes);
/* The family that has gained most classes since the last call (loads count when none has a net
 * gain), with what it gained: NULL when no class was loaded. */
const struct family_row *family_table_grown(struct family_table *table, int64_t *loaded,
                                            int64_t *net);
/* Once a chunk. Returns how many families lost their row. */
uint32_t family_table_fold(struct family_table *table);
void family_table_destroy(struct family_table *table);
