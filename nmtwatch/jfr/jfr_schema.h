/*
 * jfr_schema: the types a chunk declares about itself, read from its metadata event.
 *
 * Spans point into the chunk. What a hostile file may declare is bounded: JFR_TYPES_MAX types,
 * JFR_FIELDS_MAX fields, elements nested JFR_ELEMENT_DEPTH deep. One thread.
 */
#ifndef NMTWATCH_JFR_JFR_SCHEMA_H
#define NMTWATCH_JFR_JFR_SCHEMA_H

#include "nmtwatch/jfr/jfr_cursor.h"

#define JFR_TYPES_MAX     8192
#define JFR_FIELDS_MAX    65536
#define JFR_ELEMENT_DEPTH 8

enum jfr_name {
#define JFR_NAME(id, name) JFR_NAME_##id,
#include "nmtwatch/jfr/jfr_names.def"
#undef JFR_NAME
    JFR_NAMES, /* a field nobody looks at */
};
_Static_assert(JFR_NAMES <= 64, "a bit each");

enum jfr_layout {
    JFR_LAYOUT_FIELDS, /* its fields, one behind the other */
    JFR_LAYOUT_BYTE,   /* boolean, byte */
    JFR_LAYOUT_LEB128, /* char, short, int, long */
    JFR_LAYOUT_FLOAT,  /* four bytes */
    JFR_LAYOUT_DOUBLE, /* eight */
    JFR_LAYOUT_STRING,
};

struct jfr_field {
    struct span name;
    enum jfr_name known;
    uint64_t type_id;
    int type; /* index; -1: no such type */
    bool pool, array;
};

struct jfr_type {
    uint64_t id;
    struct span name;
    enum jfr_layout layout;
    int first_field, field_count;
};

struct jfr_schema {
    struct jfr_type *types; /* sorted by id */
    int type_count;
    struct jfr_field *fields;
    int field_count;
    int type_capacity, field_capacity;
};

/* metadata: the whole event. Replaces what schema held; zeroed before the first call. False: no
 * metadata, or more than the bounds, or out of memory. */
bool jfr_schema_read(struct jfr_schema *schema, struct jfr_cursor metadata);
/* Index; -1 when there is no such type. */
int jfr_schema_type(const struct jfr_schema *schema, uint64_t id);
void jfr_schema_free(struct jfr_schema *schema);

#endif
