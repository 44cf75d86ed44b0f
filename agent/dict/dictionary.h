/*
 * dictionary: texts -> small numbers, for constant pools.
 *
 * A level of 128 rows x 3 cells (4 KB); a collision goes one level down, where levels are of 8 rows
 * (256 bytes). All of them are made on demand. A text costs some 80 to 95 bytes beside itself.
 * Lookup and insert are lock-free (a cell is claimed by compare-and-swap), so that context values
 * may be registered by application threads while the drain thread reads.
 *
 * Any thread but signal handlers, except dictionary_find, which allocates nothing and is
 * signal-safe.
 */
#pragma once

#include "agent/mem/mem.h"

#include <stdatomic.h>
#include <string.h>

struct dictionary;

/* limit: texts beyond it are refused (0 is returned) and counted. */
struct dictionary *dictionary_create(enum component component, uint32_t limit);
/* The number of the text, 1..; 0 when the limit is reached or memory is out (counted as refused).
 * Numbers are unique; one is left out when two threads put the same new text at once. */
uint32_t dictionary_put(struct dictionary *dictionary, const char *text, size_t length);
/* 0 when it was never put. */
uint32_t dictionary_find(const struct dictionary *dictionary, const char *text, size_t length);
typedef void dictionary_visit_fn(void *context, uint32_t id, const char *text, size_t length);
void dictionary_each(const struct dictionary *dictionary, dictionary_visit_fn *visit,
                     void *context);
uint32_t dictionary_size(const struct dictionary *dictionary);
int64_t dictionary_refused(const struct dictionary *dictionary);
/* No handler may be inside. */
void dictionary_clear(struct dictionary *dictionary);
void dictionary_destroy(struct dictionary *dictionary);

/*
 * The inside, shared by dictionary.c and by dictionary_find.c, which is signal context.
 *
 *   top level  row 0    [ cell | cell | cell | down ]      4 x 8 bytes, 128 rows: 4 KB
 *              row 1    [ cell | cell | cell | down ] --> level of 8 rows, 256 bytes, for the texts
 *              ...                                        of row 1 that found its three cells taken
 *              row 127  [ cell | cell | cell | down ]     by others; its rows go on in the same way
 *
 * Seven bits of the hash choose the row of the top level, the next three that of the level below.
 * Cells and levels are only ever added (until clear), so "taken by others" once true stays true and
 * two threads with the same text come to the same cell.
 *
 * With 128 rows on every level, the fourth text of a row would cost 4 KB: 66 MB for 100 000 names
 * of 32 bytes. With 8 it is 11 MB.
 */
#define DICTIONARY_TOP_ROWS   128
#define DICTIONARY_ROWS       8
#define DICTIONARY_CELLS      3
/* A million texts need 7 levels. Texts that need more were made to collide; they are refused. */
#define DICTIONARY_LEVELS_MAX 20

struct dictionary_text {
    uint64_t hash;
    uint32_t id;
    uint32_t length;
    char bytes[]; /* a NUL behind them */
};

struct dictionary_row {
    _Atomic(struct dictionary_text *) cell[DICTIONARY_CELLS];
    _Atomic(struct dictionary_row *) down; /* the rows of a level */
};
_Static_assert(DICTIONARY_TOP_ROWS * sizeof(struct dictionary_row) == 4096, "4 KB");

struct dictionary {
    _Atomic(struct dictionary_row *) top; /* NULL until the first text */
    enum component component;
    uint32_t limit;
    _Atomic uint32_t texts; /* in cells, or about to be */
    _Atomic uint32_t last_id;
    _Atomic int64_t refused;
};

/* depth: 0 for the top level. 7 + 19 x 3 bits: none is used twice. */
static inline unsigned dictionary_row_of(uint64_t hash, unsigned depth)
{
    return depth == 0 ? (unsigned)(hash % DICTIONARY_TOP_ROWS)
                      : (unsigned)((hash >> (7 + 3 * (depth - 1))) % DICTIONARY_ROWS);
}
_Static_assert(DICTIONARY_TOP_ROWS == 1 << 7 && DICTIONARY_ROWS == 1 << 3 &&
                   7 + 3 * (DICTIONARY_LEVELS_MAX - 1) <= 64,
               "the bits of a hash");

static inline unsigned dictionary_rows_at(unsigned depth)
{
    return depth == 0 ? DICTIONARY_TOP_ROWS : DICTIONARY_ROWS;
}

static inline bool dictionary_is_text(const struct dictionary_text *entry, uint64_t hash,
                                      const char *text, size_t length)
{
    return entry->hash == hash && entry->length == length &&
           memcmp(entry->bytes, text, length) == 0;
}
