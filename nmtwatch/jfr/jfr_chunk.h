/*
 * jfr_chunk: one chunk of a JFR file in memory: its types, its constants, and values decoded.
 *
 *   jfr_chunk_load -> jfr_chunk_next_event, jfr_chunk_decode, jfr_chunk_constant ... -> _free
 *
 * The bytes are hostile. Whatever a chunk claims, the work done for it is bounded by its length:
 * each value that is passed or decoded takes one of JFR_STEPS_PER_BYTE steps a byte, and what is
 * decoded may take JFR_MEMORY_PER_BYTE bytes of memory a byte. A legitimate chunk needs a tenth of
 * either.
 *
 * Spans and pointers are valid until the next load. One thread.
 */
#ifndef NMTWATCH_JFR_JFR_CHUNK_H
#define NMTWATCH_JFR_JFR_CHUNK_H

#include "nmtwatch/jfr/jfr_schema.h"

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
    void *decoded;   /* of whoever decodes that type; NULL: not yet */
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

/* Room for a chunk of that length: the caller fills chunk->bytes. False: out of memory. */
bool jfr_chunk_room(struct jfr_chunk *chunk, size_t length);
/* Reads header, metadata and constant pools. NULL, or what is wrong with it. */
const char *jfr_chunk_load(struct jfr_chunk *chunk);
void jfr_chunk_free(struct jfr_chunk *chunk);

/* The next event that is neither metadata nor checkpoint. *type: index, -1 unknown; *body: its
 * fields. False at the end; *damage then tells why, when the end is not the chunk's. */
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
/* Called for each string field nobody knows by name; may be NULL. */
typedef void jfr_other_fn(void *context, struct span name, const struct jfr_string *string);
/* Moves the cursor over one value of the type. */
bool jfr_chunk_decode(struct jfr_chunk *chunk, struct jfr_cursor *cursor, int type,
                      struct jfr_values *values, jfr_other_fn *other, void *context);

/* NULL when there is none. */
struct jfr_constant *jfr_chunk_constant(struct jfr_chunk *chunk, int type, uint64_t id);
/* A cursor at the constant's value. */
struct jfr_cursor jfr_chunk_at(const struct jfr_chunk *chunk, const struct jfr_constant *constant);
/* Zeroed, until the next load. NULL: the bound is reached, or out of memory (chunk->out_of_memory).
 */
void *jfr_chunk_alloc(struct jfr_chunk *chunk, size_t size);

#endif
