/*
 * dictionary_layout: the inside of a dictionary, shared by dictionary.c and by dictionary_find.c,
 * which is signal context.
 *
 *   level      row 0    [ cell | cell | cell | down ]      4 x 8 bytes, 128 rows: 4 KB
 *              row 1    [ cell | cell | cell | down ] --> a level for the texts of row 1 that found
 *              ...                                        its three cells taken by others
 *              row 127  [ cell | cell | cell | down ]
 *
 * Seven bits of the hash choose the row of a level, the next seven that of the level below. Cells
 * and levels are only ever added (until clear), so "taken by others" once true stays true and two
 * threads with the same text come to the same cell.
 */
#ifndef AGENT_DICT_DICTIONARY_LAYOUT_H
#define AGENT_DICT_DICTIONARY_LAYOUT_H

#include "agent/dict/dictionary.h"

#include <stdatomic.h>
#include <string.h>

#define DICTIONARY_ROWS       128
#define DICTIONARY_ROW_BITS   7
#define DICTIONARY_CELLS      3
/* 128^4 texts fill four levels; whose texts go so deep has made them to. They are refused. */
#define DICTIONARY_LEVELS_MAX 16

struct text {
    uint64_t hash;
    uint32_t id;
    uint32_t length;
    char bytes[]; /* a NUL behind them */
};

struct dictionary_level;
struct dictionary_row {
    _Atomic(struct text *) cell[DICTIONARY_CELLS];
    _Atomic(struct dictionary_level *) down;
};
struct dictionary_level {
    struct dictionary_row row[DICTIONARY_ROWS];
};
_Static_assert(sizeof(struct dictionary_level) == 4096, "one page");

struct dictionary {
    _Atomic(struct dictionary_level *) top; /* NULL until the first text */
    enum component component;
    uint32_t limit;
    _Atomic uint32_t texts; /* in cells, or about to be */
    _Atomic uint32_t last_id;
    _Atomic int64_t refused;
};

/* depth: 0 for the top level. The bits come again after 64 levels, beyond the deepest. */
static inline unsigned dictionary_row_of(uint64_t hash, unsigned depth)
{
    unsigned by = depth * DICTIONARY_ROW_BITS % 64;
    return (unsigned)(hash >> by | hash << (-by % 64)) % DICTIONARY_ROWS;
}

static inline bool dictionary_is_text(const struct text *entry, uint64_t hash, const char *text,
                                      size_t length)
{
    return entry->hash == hash && entry->length == length &&
           memcmp(entry->bytes, text, length) == 0;
}

#endif
