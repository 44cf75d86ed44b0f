/* jfr_chunk: one chunk of a JFR file in memory: its types, its constants, and values decoded.
 *
 *   jfr_chunk_load -> jfr_chunk_next_event, jfr_chunk_decode, jfr_chunk_constant ... -> _free
 *
 * The bytes are hostile. Whatever a chunk claims, the work done for it is bounded by its length:
 * each value that is passed or decoded takes one of JFR_STEPS_PER_BYTE steps a byte, and what is
 * decoded may take JFR_MEMORY_PER_BYTE bytes of memory a byte. A legitimate chunk needs a tenth of
 * either.
 *
 * Spans and pointers are valid until the next load. One thread. */
#pragma once

#include "floor/base/span.h"

/* jfr_cursor: bytes of a JFR chunk, taken forwards and never behind their end.
 *
 * A value that does not fit makes the cursor bad; from then on every value taken is 0 or empty:
 * the caller asks once, when done. Integers are LEB128 with a ninth byte of eight bits. No
 * ownership.
 */

struct jfr_cursor {
    const uint8_t *at, *end;
    bool bad;
};

static inline const uint8_t *jfr_take_bytes(struct jfr_cursor *cursor, uint64_t length)
{
    if (cursor->bad || length > (uint64_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += length;
    return bytes;
}

static inline uint8_t jfr_take_byte(struct jfr_cursor *cursor)
{
    const uint8_t *byte = jfr_take_bytes(cursor, 1);
    return byte != NULL ? *byte : 0;
}

static inline uint64_t jfr_take(struct jfr_cursor *cursor)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        uint8_t byte = jfr_take_byte(cursor);
        value |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (byte < 0x80)
            return value;
    }
    return value | (uint64_t)jfr_take_byte(cursor) << 56;
}

enum jfr_string_encoding {
    JFR_STRING_NULL,
    JFR_STRING_EMPTY,
    JFR_STRING_POOL,
    JFR_STRING_UTF8,
    JFR_STRING_CHARS,
    JFR_STRING_LATIN1,
};

struct jfr_string {
    enum jfr_string_encoding encoding;
    uint64_t pool_id;  /* of JFR_STRING_POOL */
    struct span bytes; /* as they are in the file */
};

static inline struct jfr_string jfr_take_string(struct jfr_cursor *cursor)
{
    struct jfr_string string = {.encoding = (enum jfr_string_encoding)jfr_take_byte(cursor)};
    uint64_t length;
    switch (string.encoding) {
    case JFR_STRING_NULL:
    case JFR_STRING_EMPTY:
        break;
    case JFR_STRING_POOL:
        string.pool_id = jfr_take(cursor);
        break;
    case JFR_STRING_UTF8:
    case JFR_STRING_LATIN1:
        length = jfr_take(cursor);
        string.bytes.ptr = (const char *)jfr_take_bytes(cursor, length);
        string.bytes.len = string.bytes.ptr != NULL ? length : 0;
        break;
    case JFR_STRING_CHARS:
        length = jfr_take(cursor);
        string.bytes.ptr = (const char *)cursor->at;
        for (; length > 0 && !cursor->bad; length--)
            jfr_take(cursor);
        string.bytes.len = (size_t)((const char *)cursor->at - string.bytes.ptr);
        break;
    default:
        cursor->bad = true;
    }
    return string;
}

/* jfr_schema: the types a chunk declares about itself, read from its metadata event.
 *
 * Spans point into the chunk. Bounds for values that a hostile file declares: JFR_TYPES_MAX types,
 * JFR_FIELDS_MAX fields, elements nested JFR_ELEMENT_DEPTH deep. One thread.
 */

#define JFR_TYPES_MAX     8192
#define JFR_FIELDS_MAX    65536
#define JFR_ELEMENT_DEPTH 8

enum jfr_name {
#define JFR_NAME(id, name) JFR_NAME_##id,
#include "nmtwatch/jfr/jfr_names.def"
#undef JFR_NAME
    JFR_NAMES, /* an unused field */
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
    int field_count, type_capacity, field_capacity;
};

/* metadata: the whole event. Replaces what schema held; zeroed before the first call. False: no
 * metadata, or more than the bounds, or out of memory. */
bool jfr_schema_read(struct jfr_schema *schema, struct jfr_cursor metadata);
/* Index; -1 when there is no such type. */
int jfr_schema_type(const struct jfr_schema *schema, uint64_t id);
void jfr_schema_free(struct jfr_schema *schema);

#define JFR_HEADER_BYTES    68
#define JFR_CHUNK_BYTES_MAX (1 << 30)
#define JFR_CONSTANTS_MAX   (4 << 20)
#define JFR_STEPS_PER_BYTE  32
#define JFR_MEMORY_PER_BYTE 32
#define JFR_MEMORY_AT_LEAST (1 << 20)

/* A constant: where its value stands, and what was made of it. */
struct jfr_constant {
    uint64_t id;
    int32_t type;    /* index into the schema */
    uint32_t offset; /* in the chunk; 0, where its header is: an empty place of the table */
    void *decoded;   /* of the decoder of that type; NULL: not yet */
};

struct jfr_memory_block;

struct jfr_chunk {
    uint8_t *bytes;
    size_t length, capacity;
    int64_t start_ns, duration_ns, start_ticks, ticks_per_s;
    struct jfr_schema schema;
    struct jfr_constant *constants; /* hash table */
    size_t constant_count, constant_places;
    struct jfr_memory_block *memory;
    int64_t steps_left, memory_left;
    bool out_of_memory;
    const uint8_t *next_event;
};

enum jfr_header_state { JFR_HEADER_GOOD, JFR_HEADER_BAD, JFR_HEADER_UNFINISHED };
/* Of the header alone: the chunk's size, and whether it can be one. */
enum jfr_header_state jfr_header_size(const uint8_t header[JFR_HEADER_BYTES], int64_t *size);
struct jfr_header_times {
    int64_t start_ns, duration_ns, start_ticks, ticks_per_s;
};
struct jfr_header_times jfr_header_times(const uint8_t header[JFR_HEADER_BYTES]);

/* Room for a chunk of that length: the caller fills chunk->bytes. False: out of memory. */
bool jfr_chunk_room(struct jfr_chunk *chunk, size_t length);
/* Reads header, metadata and constant pools. NULL, or what is wrong with it. */
const char *jfr_chunk_load(struct jfr_chunk *chunk);
void jfr_chunk_free(struct jfr_chunk *chunk);

/* The next event that is neither metadata nor checkpoint. *type: index, -1 unknown; *body: its
 * fields. False at the end; *damage then says why, when the end is not the chunk's. */
bool jfr_chunk_next_event(struct jfr_chunk *chunk, int *type, struct jfr_cursor *body,
                          const char **damage);

/* Values of a type's fields, by name. */
struct jfr_value {
    uint64_t number;          /* integers; ids of constants */
    bool pool;                /* number is the id of a constant of that type */
    int type;                 /* index into the schema; of an array: of its elements */
    struct jfr_string string; /* of strings */
    struct jfr_cursor array;  /* at the first element */
    uint64_t length;          /* of the array */
};
struct jfr_values {
    uint64_t present; /* bit per jfr_name: these are set */
    struct jfr_value value[JFR_NAMES];
};
static inline const struct jfr_value *jfr_value(const struct jfr_values *values, enum jfr_name name)
{
    return values->present >> name & 1 ? &values->value[name] : NULL;
}
/* Called for each string field with an unknown name; may be NULL. */
typedef void jfr_other_fn(void *context, struct span name, const struct jfr_string *string);
/* Moves the cursor over one value of the type. */
bool jfr_chunk_decode(struct jfr_chunk *chunk, struct jfr_cursor *cursor, int type,
                      struct jfr_values *values, jfr_other_fn *other, void *context);

/* NULL when there is none. */
struct jfr_constant *jfr_chunk_constant(struct jfr_chunk *chunk, int type, uint64_t id);
/* A cursor at the constant's value. */
struct jfr_cursor jfr_chunk_at(const struct jfr_chunk *chunk, const struct jfr_constant *constant);
/* Zeroed, until the next load. NULL: the bound is reached, or out of memory (chunk->out_of_memory). */
void *jfr_chunk_alloc(struct jfr_chunk *chunk, size_t size);
