/*
 * stem_table: the stems of class names seen so far, and which of them a class name belongs to. A
 * census of live classes (census.h) keeps one entry per stem; the rows of a class-load log
 * (analyzers/classlog/class_rows.h) keep one per stem and source, chained by next.
 *
 *   stem_table_init -> stem_table_find -> (stem_table_insert) ... -> stem_table_free
 *
 * Open addressing, linear probing, at most half full; an entry leaves only in a sweep and does not
 * move before. Calling context: one thread per table.
 */
#pragma once

#include "analyzers/classes/family.h"
#include "floor/base/normalize.h"

/* The first member of whatever entry_bytes describes; the texts follow the entry. */
/*
 * shape: do the classes of one stem look as if a generator made them?
 *
 * The problem: families.def names the generators that are known. Every other one is recognised by
 * what its classes do together, never by one name: they are counted through (Gen1, Gen2, ...), they
 * end in something random, they repeat one name in loader after loader, or they are hidden.
 * Compiled code does little of that and stops: anonymous classes are numbered per outer class,
 * character sets and hash functions have numbers in their names. So a number counts for more when
 * the class was defined by code than when it may have come from a file.
 *
 *   shape_init -> shape_add ... -> shape_kind, shape_names, shape_max_same_name -> shape_free
 *
 * Bounds: distinct names are exact up to SHAPE_EXACT_NAMES, an estimate beyond (standard error 4.6
 * %, 512 bytes, allocated then). The count of the most repeated name is exact for up to four names
 * and a lower bound otherwise. Calling context: one thread per shape.
 */
#define SHAPE_EXACT_NAMES    16
#define SHAPE_REPEATED_NAMES 4
#define SHAPE_MEMBERS        8  /* members of a family */
#define SHAPE_FILE_MEMBERS   64 /* when they may be numbered by a compiler */

enum shape_kind {
    SHAPE_NONE,     /* ordinary classes, or too few of them */
    SHAPE_COUNTER,  /* numbered without gaps, or with numbers too long for a compiler's */
    SHAPE_RANDOM,   /* tails of one length that look random */
    SHAPE_HIDDEN,   /* hidden classes of one host */
    SHAPE_REPEATED, /* one name again and again */
};

struct shape_repeat {
    uint32_t name;  /* hash; */
    uint32_t error; /* of count, at most this belongs to other names */
    int64_t count;
};

struct shape {
    int64_t loads;
    bool folded; /* from here: of the name_parts, which the members of a stem share */
    bool hidden;
    bool anonymous;
    bool defined; /* by code, not read from a file, at least once */
    bool counted;
    uint64_t first_min, first_max; /* the first number in the name */
    uint64_t last_min, last_max;
    uint32_t random_min_bytes, random_max_bytes; /* 0: none */
    int exact_count;
    uint32_t exact[SHAPE_EXACT_NAMES]; /* hashes of distinct names */
    uint8_t *sketch;                   /* when there are more */
    struct shape_repeat repeat[SHAPE_REPEATED_NAMES];
};

void shape_init(struct shape *shape);
/* name_hash: of the full name, all 64 bits well mixed. defined: by code, as far as is known. */
void shape_add(struct shape *shape, const struct name_parts *parts, uint64_t name_hash,
               bool defined);
enum shape_kind shape_kind(const struct shape *shape);
int64_t shape_names(const struct shape *shape);
int64_t shape_max_same_name(const struct shape *shape);
bool shape_names_are_exact(const struct shape *shape);
bool shape_max_same_name_is_exact(const struct shape *shape);
void shape_free(struct shape *shape);

struct stem {
    uint64_t hash;
    struct stem *next;           /* the same stem from another source */
    const struct family *family; /* NULL: no row matches */
    int64_t unloads;
    struct shape shape;  /* of the classes counted here */
    const char *text;    /* C strings: the stem; */
    const char *example; /* the first name, and the source it had, cut to EVENT_NAME_MAX */
    const char *source;
    struct name_pattern pattern; /* of the example */
    uint16_t example_len;
    uint16_t text_len;
    uint16_t source_len;
};

#define STEMS_RECENT 64

struct stem_table {
    size_t max_stems; /* entries */
    size_t entry_bytes;
    size_t slot_count; /* power of two, at least twice max_stems */
    struct stem **slots;
    size_t stem_count;                    /* entries */
    struct stem *recent[STEMS_RECENT][2]; /* met lately, by how names begin */
    int64_t evict_loads; /* stems seen no more than so often have made room; 0: none yet */
    int64_t next_sweep;  /* not before so many loads: a fruitless sweep is not repeated at once */
};

/* A class on its way to its stem. */
struct arrival {
    struct span name;
    struct name_parts parts;
    const struct stem *known; /* whose pattern the name fits: what follows is not set */
    struct name_pattern pattern;
    uint64_t stem_hash;
    size_t stem_len;
    char stem[STEM_MAX];
};

/* entry_bytes: of a struct that begins with a struct stem; the rest of a new entry is zero. False
 * when out of memory. */
bool stem_table_init(struct stem_table *table, size_t max_stems, size_t entry_bytes);
/* The first entry of the name's stem, or NULL; *arrival is filled for stem_table_insert and
 * stem_add. name: not empty. */
struct stem *stem_table_find(struct stem_table *table, struct span name, struct arrival *arrival);
/* After a find: an entry behind those of its stem. NULL when the table is full or memory is out. */
struct stem *stem_table_insert(struct stem_table *table, const struct arrival *arrival,
                               struct span source);
/* One more class: arrival as stem_table_find left it. */
void stem_add(struct stem *stem, const struct arrival *arrival, struct span source);
/* Made by a generator: a known family's by its name, else by the shape of its classes. */
bool stem_is_generated(const struct stem *stem);
/* Of a generated one: its family's id or "unknown:<stem>", and how its classes are called. family
 * has room for EVENT_FAMILY_MAX bytes, name for EVENT_NAME_MAX. */
void stem_family_name(const struct stem *stem, char *family, char *name);
/* Names are mostly seen once, a generator's stems again and again. So when the table is full, those
 * seen once make room, later those seen twice, and so on, never one that was seen SHAPE_MEMBERS
 * times. Each goes to evict, which owns it then. loads: all classes seen up to now. True when there
 * was a sweep: what stem_table_find has returned is no longer valid. */
bool stem_table_make_room(struct stem_table *table, int64_t loads,
                          void (*evict)(void *context, struct stem *stem), void *context);
/* The entry after this one, in no order; NULL: the first, and after the last. */
struct stem *stem_table_next(const struct stem_table *table, const struct stem *stem);
/* Frees the entries; the table is empty and usable. */
void stem_table_clear(struct stem_table *table);
void stem_table_free(struct stem_table *table);
void stem_destroy(struct stem *stem); /* NULL is fine */

/* 64 well mixed bits. */
uint64_t stem_hash(struct span text);
