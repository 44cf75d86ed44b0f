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
#ifndef ANALYZERS_CLASSES_SHAPE_H
#define ANALYZERS_CLASSES_SHAPE_H

#include "analyzers/classes/normalize.h"

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

#endif
