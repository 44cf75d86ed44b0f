/*
 * jfr_metadata: a chunk's header, and what a chunk says about its own types: a table of types as a metadata
 * event. Used by the agent (jfr_types.h) and by nmtwatch, for recordings that become JFR.
 *
 *   metadata event:  size, type 0, start, duration, metadata id, strings, one tree of elements
 *   element:         name, attributes (key, value)*, children*
 *
 *   root -> metadata -> class* -> field*, annotation*
 *        -> region
 *
 * Names and texts are numbers of the strings. Readers take the types of the chunk before when the metadata
 * id is the same: it is a hash of the content.
 *
 *   header   0        4      6      8          16              24               32
 *            +--------+------+------+----------+---------------+----------------+
 *            | FLR\0  | 2    | 1    | size     | checkpoint at | metadata at    |
 *            +--------+------+------+----------+---------------+-------+--------+--------+
 *            | start, ns     | duration, ns    | start, ticks  | ticks per s    | flags  |
 *            +---------------+-----------------+---------------+----------------+--------+
 *            32              40                48              56               64       68
 *
 * Big endian. Not in a signal handler.
 */
#pragma once

#include "floor/jfr/jfr_bytes.h"

#define JFR_HEADER_BYTES  68
#define JFR_NOT_AVAILABLE INT64_MIN /* JFR's own way to say that there is no number */

struct jfr_chunk {
    int64_t size, checkpoint_at, metadata_at;
    int64_t start_ns, duration_ns; /* since the epoch; ticks are the same */
};
void jfr_chunk_header(const struct jfr_chunk *chunk, uint8_t out[JFR_HEADER_BYTES]);

enum jfr_row_kind {
    JFR_ROW_PRIMITIVE,
    JFR_ROW_STRUCT,
    JFR_ROW_SIMPLE,
    JFR_ROW_ANNOTATION,
    JFR_ROW_EVENT,
    JFR_ROW_FIELD,
    JFR_ROW_CONTEXT,
};
/* NOTE, CONTENT: of annotations. The others say how a field's number is meant or kept. */
enum jfr_trait {
    JFR_AS_PLAIN,
    JFR_AS_POOL,
    JFR_AS_ARRAY,
    JFR_AS_TICKS,
    JFR_AS_EPOCH_MS,
    JFR_AS_BYTES,
    JFR_AS_UNSIGNED,
    JFR_AS_NOTE,
    JFR_AS_CONTENT,
};

/* Fields stand behind the row of their type. */
struct jfr_type_row {
    enum jfr_row_kind kind;
    uint32_t type; /* its own; of a field: the type of its value */
    const char *name, *label;
    enum jfr_trait trait;
    const char *description, *category, *subcategory;
};

/* A table begins with jfr_base_types.def, numbered from JFR_TYPE_BEFORE_FIRST + 1 in its order. */
#define JFR_TYPE_BEFORE_FIRST 19
struct jfr_type_table {
    const struct jfr_type_row *rows;
    size_t count;
    uint32_t (*id)(uint32_t type, uint32_t salt); /* in a chunk */
};

#define JFR_TAGS_MAX 16 /* fields that a program declares */

/* Appends the whole event. salt: of the chunk. tags: names as they were declared; they are fields whose names
 * are identifiers, unlike each other, with the given name as the label. */
void jfr_metadata_append(struct jfr_bytes *bytes, const struct jfr_type_table *table, uint32_t salt,
                         int64_t ticks, const char *const *tags, int tag_count);
