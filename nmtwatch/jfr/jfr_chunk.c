#include "nmtwatch/jfr/jfr_chunk.h"

#include <endian.h>
#include <stdlib.h>

#define VALUE_DEPTH_MAX    16
#define BLOCK_BYTES        65536
#define FIRST_PLACES       1024
#define CHECKPOINTS_MAX    1000000
#define COMPRESSED_FLAG    1
#define METADATA_TYPE_ID   0
#define CHECKPOINT_TYPE_ID 1

/* --- memory ----------------------------------------------------------------------------------- */

struct jfr_memory_block {
    struct jfr_memory_block *next;
    size_t used, size;
    _Alignas(16) uint8_t bytes[];
};

void *jfr_chunk_alloc(struct jfr_chunk *chunk, size_t size)
{
    struct jfr_memory_block *block = chunk->memory;
    size = (size + 15) & ~(size_t)15;
    if (size > (size_t)INT64_MAX / 2 || (int64_t)size > chunk->memory_left) {
        chunk->out_of_memory = true;
        return NULL;
    }
    if (block == NULL || size > block->size - block->used) {
        size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = calloc(1, sizeof *block + bytes);
        if (block == NULL) {
            chunk->out_of_memory = true;
            return NULL;
        }
        block->size = bytes;
        block->next = chunk->memory;
        chunk->memory = block;
    }
    void *room = block->bytes + block->used;
    block->used += size;
    chunk->memory_left -= (int64_t)size;
    return room;
}

static void free_memory(struct jfr_chunk *chunk)
{
    while (chunk->memory != NULL) {
        struct jfr_memory_block *next = chunk->memory->next;
        free(chunk->memory);
        chunk->memory = next;
    }
}

bool jfr_chunk_room(struct jfr_chunk *chunk, size_t length)
{
    if (length > chunk->capacity) {
        free(chunk->bytes);
        chunk->bytes = malloc(length);
        chunk->capacity = chunk->bytes != NULL ? length : 0;
        if (chunk->bytes == NULL)
            return false;
    }
    chunk->length = length;
    return true;
}

void jfr_chunk_free(struct jfr_chunk *chunk)
{
    free_memory(chunk);
    jfr_schema_free(&chunk->schema);
    free(chunk->constants);
    free(chunk->bytes);
    *chunk = (struct jfr_chunk){0};
}

/* --- constants -------------------------------------------------------------------------------- */

/* Each place looked at is a step: ids may be chosen to collide. When the steps are used up, the
 * place is of any constant, and the caller's next step fails. */
static size_t place_of(struct jfr_chunk *chunk, int type, uint64_t id)
{
    uint64_t hash = (id + (uint64_t)type * 0xbf58476d1ce4e5b9u) * 0x9e3779b97f4a7c15u;
    size_t mask = chunk->constant_places - 1, at = (hash >> 32) & mask;
    while (chunk->constants[at].offset != 0 &&
           (chunk->constants[at].type != type || chunk->constants[at].id != id) &&
           --chunk->steps_left >= 0)
        at = (at + 1) & mask;
    return at;
}

struct jfr_constant *jfr_chunk_constant(struct jfr_chunk *chunk, int type, uint64_t id)
{
    if (chunk->constant_count == 0 || type < 0)
        return NULL;
    struct jfr_constant *found = &chunk->constants[place_of(chunk, type, id)];
    return found->offset != 0 && found->type == type && found->id == id ? found : NULL;
}

static bool make_places(struct jfr_chunk *chunk, size_t places)
{
    struct jfr_constant *old = chunk->constants;
    size_t old_places = chunk->constant_places;
    struct jfr_constant *fresh = calloc(places, sizeof *fresh);
    if (fresh == NULL)
        return false;
    chunk->constants = fresh;
    chunk->constant_places = places;
    for (size_t i = 0; i < old_places; i++)
        if (old[i].offset != 0)
            fresh[place_of(chunk, old[i].type, old[i].id)] = old[i];
    free(old);
    return true;
}

/* The first of several with one id stays: the chain of checkpoints leads backwards. */
static bool add_constant(struct jfr_chunk *chunk, int type, uint64_t id, const uint8_t *at)
{
    if (chunk->constant_count >= JFR_CONSTANTS_MAX)
        return false;
    if ((chunk->constant_count + 1) * 4 > chunk->constant_places * 3 &&
        !make_places(chunk, chunk->constant_places ? chunk->constant_places * 2 : FIRST_PLACES))
        return false;
    struct jfr_constant *place = &chunk->constants[place_of(chunk, type, id)];
    if (place->offset == 0) {
        *place = (struct jfr_constant){id, type, (uint32_t)(at - chunk->bytes), NULL};
        chunk->constant_count++;
    }
    return true;
}

struct jfr_cursor jfr_chunk_at(const struct jfr_chunk *chunk, const struct jfr_constant *constant)
{
    return (struct jfr_cursor){chunk->bytes + constant->offset, chunk->bytes + chunk->length,
                               false};
}

/* --- values ----------------------------------------------------------------------------------- */

/* False when a chunk asks for more work than it has bytes. */
static bool step(struct jfr_chunk *chunk, struct jfr_cursor *cursor)
{
    if (--chunk->steps_left < 0)
        cursor->bad = true;
    return !cursor->bad;
}

static void pass_type(struct jfr_chunk *chunk, struct jfr_cursor *cursor, int type, int depth);

static void pass_field(struct jfr_chunk *chunk, struct jfr_cursor *cursor,
                       const struct jfr_field *field, int depth)
{
    uint64_t count = field->array ? jfr_take(cursor) : 1;
    for (; count > 0 && step(chunk, cursor); count--)
        if (field->pool)
            jfr_take(cursor);
        else
            pass_type(chunk, cursor, field->type, depth + 1);
}

static void pass_type(struct jfr_chunk *chunk, struct jfr_cursor *cursor, int type, int depth)
{
    if (type < 0 || depth > VALUE_DEPTH_MAX || !step(chunk, cursor)) {
        cursor->bad = true;
        return;
    }
    const struct jfr_type *known = &chunk->schema.types[type];
    switch (known->layout) {
    case JFR_LAYOUT_BYTE:
        jfr_take_byte(cursor);
        break;
    case JFR_LAYOUT_LEB128:
        jfr_take(cursor);
        break;
    case JFR_LAYOUT_FLOAT:
        jfr_take_bytes(cursor, 4);
        break;
    case JFR_LAYOUT_DOUBLE:
        jfr_take_bytes(cursor, 8);
        break;
    case JFR_LAYOUT_STRING:
        jfr_take_string(cursor);
        break;
    case JFR_LAYOUT_FIELDS:
        for (int i = 0; i < known->field_count && !cursor->bad; i++)
            pass_field(chunk, cursor, &chunk->schema.fields[known->first_field + i], depth);
    }
}

static void take_field(struct jfr_chunk *chunk, struct jfr_cursor *cursor,
                       const struct jfr_field *field, struct jfr_value *value)
{
    *value = (struct jfr_value){.type = field->type};
    if (field->array) {
        struct jfr_cursor start = *cursor;
        value->length = jfr_take(&start);
        value->array = start;
        pass_field(chunk, cursor, field, 0);
        return;
    }
    if (field->pool) {
        value->number = jfr_take(cursor);
        value->pool = true;
        return;
    }
    if (field->type < 0) {
        cursor->bad = true;
        return;
    }
    switch (chunk->schema.types[field->type].layout) {
    case JFR_LAYOUT_BYTE:
        value->number = jfr_take_byte(cursor);
        break;
    case JFR_LAYOUT_LEB128:
        value->number = jfr_take(cursor);
        break;
    case JFR_LAYOUT_STRING:
        value->string = jfr_take_string(cursor);
        break;
    default:
        pass_type(chunk, cursor, field->type, 0);
    }
}

bool jfr_chunk_decode(struct jfr_chunk *chunk, struct jfr_cursor *cursor, int type,
                      struct jfr_values *values, jfr_other_fn *other, void *context)
{
    values->present = 0;
    if (type < 0 || chunk->schema.types[type].layout != JFR_LAYOUT_FIELDS)
        return false;
    const struct jfr_type *known = &chunk->schema.types[type];
    for (int i = 0; i < known->field_count && step(chunk, cursor); i++) {
        const struct jfr_field *field = &chunk->schema.fields[known->first_field + i];
        struct jfr_value unknown, *value = &unknown;
        if (field->known < JFR_NAMES)
            value = &values->value[field->known];
        take_field(chunk, cursor, field, value);
        if (field->known < JFR_NAMES)
            values->present |= UINT64_C(1) << field->known;
        else if (other != NULL && !field->array && !field->pool && field->type >= 0 &&
                 chunk->schema.types[field->type].layout == JFR_LAYOUT_STRING)
            other(context, field->name, &value->string);
    }
    return !cursor->bad;
}

/* --- loading ---------------------------------------------------------------------------------- */

static int64_t header_number(const uint8_t *header, size_t at)
{
    uint64_t number;
    memcpy(&number, header + at, sizeof number);
    return (int64_t)be64toh(number);
}

enum jfr_header_state jfr_header_size(const uint8_t header[JFR_HEADER_BYTES], int64_t *size)
{
    static const uint8_t zeros[8];
    *size = header_number(header, 8);
    if (memcmp(header, zeros, sizeof zeros) == 0 && *size == 0)
        return JFR_HEADER_UNFINISHED; /* as our agent begins a chunk */
    if (memcmp(header, "FLR", 4) != 0 || header[4] != 0 || header[5] != 2)
        return JFR_HEADER_BAD;
    if (*size == 0)
        return JFR_HEADER_UNFINISHED;
    return *size > JFR_HEADER_BYTES ? JFR_HEADER_GOOD : JFR_HEADER_BAD;
}

struct jfr_header_times jfr_header_times(const uint8_t header[JFR_HEADER_BYTES])
{
    return (struct jfr_header_times){header_number(header, 32), header_number(header, 40),
                                     header_number(header, 48), header_number(header, 56)};
}

static const char *load_pools(struct jfr_chunk *chunk, struct jfr_cursor *cursor)
{
    uint64_t pools = jfr_take(cursor);
    for (; pools > 0 && step(chunk, cursor); pools--) {
        int type = jfr_schema_type(&chunk->schema, jfr_take(cursor));
        uint64_t count = jfr_take(cursor);
        if (type < 0)
            return "a constant pool of a type that is not declared";
        for (; count > 0 && step(chunk, cursor); count--) {
            uint64_t id = jfr_take(cursor);
            const uint8_t *at = cursor->at;
            pass_type(chunk, cursor, type, 0);
            if (!cursor->bad && !add_constant(chunk, type, id, at))
                return "more constants than can be kept";
        }
    }
    return cursor->bad ? "a constant pool that is damaged" : NULL;
}

/* The event at an offset, cut to its own length. */
static bool event_at(const struct jfr_chunk *chunk, uint64_t offset, struct jfr_cursor *event)
{
    if (offset < JFR_HEADER_BYTES || offset >= chunk->length)
        return false;
    *event = (struct jfr_cursor){chunk->bytes + offset, chunk->bytes + chunk->length, false};
    struct jfr_cursor ahead = *event;
    uint64_t size = jfr_take(&ahead);
    if (ahead.bad || size == 0 || size > (uint64_t)(event->end - event->at))
        return false;
    event->end = event->at + size;
    return true;
}

static const char *load_checkpoints(struct jfr_chunk *chunk, uint64_t offset)
{
    struct jfr_cursor cursor;
    for (int i = 0; i < CHECKPOINTS_MAX; i++) {
        if (!event_at(chunk, offset, &cursor))
            return "a checkpoint that is not where it should be";
        jfr_take(&cursor); /* size */
        if (jfr_take(&cursor) != CHECKPOINT_TYPE_ID)
            return "a checkpoint that is not where it should be";
        jfr_take(&cursor); /* start */
        jfr_take(&cursor); /* duration */
        uint64_t delta = jfr_take(&cursor);
        jfr_take_byte(&cursor); /* kind */
        const char *wrong = load_pools(chunk, &cursor);
        if (wrong != NULL || delta == 0)
            return wrong;
        if ((int64_t)delta > 0)
            return "checkpoints that go in a circle";
        offset += delta;
    }
    return "more checkpoints than can be kept";
}

const char *jfr_chunk_load(struct jfr_chunk *chunk)
{
    const uint8_t *header = chunk->bytes;
    int64_t size;
    free_memory(chunk);
    chunk->constant_count = 0;
    if (chunk->constants != NULL)
        memset(chunk->constants, 0, chunk->constant_places * sizeof *chunk->constants);
    chunk->out_of_memory = false;
    chunk->steps_left = (int64_t)chunk->length * JFR_STEPS_PER_BYTE;
    chunk->memory_left = (int64_t)chunk->length * JFR_MEMORY_PER_BYTE + JFR_MEMORY_AT_LEAST;
    if (chunk->length < JFR_HEADER_BYTES || jfr_header_size(header, &size) != JFR_HEADER_GOOD)
        return "no chunk of a recording";
    if ((header[67] & COMPRESSED_FLAG) == 0)
        return "integers that are not compressed";
    const struct jfr_header_times times = jfr_header_times(header);
    chunk->start_ns = times.start_ns;
    chunk->duration_ns = times.duration_ns;
    chunk->start_ticks = times.start_ticks;
    chunk->ticks_per_s = times.ticks_per_s;
    int64_t end_ns;
    if (chunk->ticks_per_s <= 0 || chunk->start_ns < 0 || chunk->duration_ns < 0 ||
        __builtin_add_overflow(chunk->start_ns, chunk->duration_ns, &end_ns))
        return "times that cannot be";
    struct jfr_cursor metadata;
    if (!event_at(chunk, (uint64_t)header_number(header, 24), &metadata) ||
        !jfr_schema_read(&chunk->schema, metadata))
        return "metadata that is damaged";
    chunk->next_event = chunk->bytes + JFR_HEADER_BYTES;
    return load_checkpoints(chunk, (uint64_t)header_number(header, 16));
}

bool jfr_chunk_next_event(struct jfr_chunk *chunk, int *type, struct jfr_cursor *body,
                          const char **damage)
{
    const uint8_t *end = chunk->bytes + chunk->length;
    *damage = NULL;
    while (chunk->next_event < end) {
        if (!event_at(chunk, (uint64_t)(chunk->next_event - chunk->bytes), body)) {
            *damage = "an event with a length that cannot be";
            return false;
        }
        chunk->next_event = body->end;
        jfr_take(body); /* size */
        uint64_t id = jfr_take(body);
        if (body->bad) {
            *damage = "an event that is damaged";
            return false;
        }
        if (id != METADATA_TYPE_ID && id != CHECKPOINT_TYPE_ID) {
            *type = jfr_schema_type(&chunk->schema, id);
            return true;
        }
    }
    return false;
}

/* --- jfr schema ------------------------------------------------------------------------------ */

/* --- the event as a tree of elements ---------------------------------------------------------- */

struct reading {
    struct jfr_schema *schema;
    struct jfr_cursor cursor;
    struct span *strings;
    uint64_t string_count;
};

static struct span string_at(struct reading *reading)
{
    uint64_t index = jfr_take(&reading->cursor);
    if (index >= reading->string_count) {
        reading->cursor.bad = true;
        return (struct span){0};
    }
    return reading->strings[index];
}

static void *grown(void *array, int *capacity, int count, int max, size_t size)
{
    if (count < *capacity)
        return array;
    int more = *capacity ? *capacity * 2 : 64;
    if (count >= max)
        return NULL;
    void *bigger = reallocarray(array, (size_t)more, size);
    if (bigger != NULL)
        *capacity = more;
    return bigger;
}

static struct jfr_type *add_type(struct reading *reading)
{
    struct jfr_schema *schema = reading->schema;
    struct jfr_type *types = grown(schema->types, &schema->type_capacity, schema->type_count,
                                   JFR_TYPES_MAX, sizeof *types);
    if (types == NULL) {
        reading->cursor.bad = true;
        return NULL;
    }
    schema->types = types;
    types += schema->type_count++;
    *types = (struct jfr_type){.first_field = schema->field_count};
    return types;
}

/* A field belongs to the type before it. */
static struct jfr_field *add_field(struct reading *reading)
{
    struct jfr_schema *schema = reading->schema;
    struct jfr_field *fields = NULL;
    if (schema->type_count > 0)
        fields = grown(schema->fields, &schema->field_capacity, schema->field_count, JFR_FIELDS_MAX,
                       sizeof *fields);
    if (fields == NULL) {
        reading->cursor.bad = true;
        return NULL;
    }
    schema->fields = fields;
    fields += schema->field_count++;
    schema->types[schema->type_count - 1].field_count++;
    *fields = (struct jfr_field){.known = JFR_NAMES, .type = -1};
    return fields;
}

static enum jfr_name known_name(struct span name)
{
    static const char *const names[] = {
#define JFR_NAME(id, text) text,
#include "nmtwatch/jfr/jfr_names.def"
#undef JFR_NAME
    };
    for (int i = 0; i < JFR_NAMES; i++)
        if (span_equals(name, span_from_cstr(names[i])))
            return (enum jfr_name)i;
    return JFR_NAMES;
}

static enum jfr_layout layout_of(struct span name)
{
    static const struct {
        const char *name;
        enum jfr_layout layout;
    } primitives[] = {
        {"boolean", JFR_LAYOUT_BYTE},
        {"byte", JFR_LAYOUT_BYTE},
        {"char", JFR_LAYOUT_LEB128},
        {"short", JFR_LAYOUT_LEB128},
        {"int", JFR_LAYOUT_LEB128},
        {"long", JFR_LAYOUT_LEB128},
        {"float", JFR_LAYOUT_FLOAT},
        {"double", JFR_LAYOUT_DOUBLE},
        {"java.lang.String", JFR_LAYOUT_STRING},
    };
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++)
        if (span_equals(name, span_from_cstr(primitives[i].name)))
            return primitives[i].layout;
    return JFR_LAYOUT_FIELDS;
}

static uint64_t number_in(struct reading *reading, struct span text)
{
    int64_t number;
    if (!span_take_unsigned(&text, &number) || text.len != 0) {
        reading->cursor.bad = true;
        return 0;
    }
    return (uint64_t)number;
}

static void take_attributes(struct reading *reading, struct jfr_type *type, struct jfr_field *field)
{
    uint64_t count = jfr_take(&reading->cursor);
    for (; count > 0 && !reading->cursor.bad; count--) {
        struct span key = string_at(reading), value = string_at(reading);
        if (type != NULL && span_equals(key, SPAN_LITERAL("id"))) {
            type->id = number_in(reading, value);
        } else if (type != NULL && span_equals(key, SPAN_LITERAL("name"))) {
            type->name = value;
            type->layout = layout_of(value);
        } else if (field != NULL && span_equals(key, SPAN_LITERAL("name"))) {
            field->name = value;
            field->known = known_name(value);
        } else if (field != NULL && span_equals(key, SPAN_LITERAL("class"))) {
            field->type_id = number_in(reading, value);
        } else if (field != NULL && span_equals(key, SPAN_LITERAL("constantPool"))) {
            field->pool = true;
        } else if (field != NULL && span_equals(key, SPAN_LITERAL("dimension"))) {
            field->array = true;
        }
    }
}

/* An element and its children. Classes and fields are kept, the rest is passed by. Each element
 * takes at least three bytes, so the number of steps is bounded by the event's length. */
static void take_element(struct reading *reading, int depth)
{
    struct jfr_type *type = NULL;
    struct jfr_field *field = NULL;
    struct span name = string_at(reading);
    if (depth > JFR_ELEMENT_DEPTH) {
        reading->cursor.bad = true;
        return;
    }
    if (span_equals(name, SPAN_LITERAL("class")))
        type = add_type(reading);
    else if (span_equals(name, SPAN_LITERAL("field")))
        field = add_field(reading);
    take_attributes(reading, type, field);
    uint64_t children = jfr_take(&reading->cursor);
    for (; children > 0 && !reading->cursor.bad; children--)
        take_element(reading, depth + 1);
}

static bool take_strings(struct reading *reading)
{
    struct jfr_cursor *cursor = &reading->cursor;
    reading->string_count = jfr_take(cursor);
    if (cursor->bad || reading->string_count > (uint64_t)(cursor->end - cursor->at))
        return false; /* each takes a byte at least */
    reading->strings = calloc(reading->string_count + 1, sizeof *reading->strings);
    if (reading->strings == NULL)
        return false;
    for (uint64_t i = 0; i < reading->string_count && !cursor->bad; i++) {
        struct jfr_string string = jfr_take_string(cursor);
        /* Names that matter here are ASCII: one byte a character in every encoding. */
        if (string.encoding != JFR_STRING_POOL)
            reading->strings[i] = string.bytes;
    }
    return !cursor->bad;
}

/* --- looking up ------------------------------------------------------------------------------- */

static int by_id(const void *left, const void *right)
{
    uint64_t a = ((const struct jfr_type *)left)->id, b = ((const struct jfr_type *)right)->id;
    return (a > b) - (a < b);
}

int jfr_schema_type(const struct jfr_schema *schema, uint64_t id)
{
    struct jfr_type key = {.id = id};
    if (schema->type_count == 0)
        return -1;
    const struct jfr_type *found =
        bsearch(&key, schema->types, (size_t)schema->type_count, sizeof key, by_id);
    return found != NULL ? (int)(found - schema->types) : -1;
}

bool jfr_schema_read(struct jfr_schema *schema, struct jfr_cursor metadata)
{
    struct reading reading = {.schema = schema, .cursor = metadata};
    schema->type_count = schema->field_count = 0;
    jfr_take(&reading.cursor); /* size */
    bool is_metadata = jfr_take(&reading.cursor) == 0;
    for (int i = 0; i < 3; i++) /* start, duration, id */
        jfr_take(&reading.cursor);
    bool good = is_metadata && take_strings(&reading);
    if (good) {
        take_element(&reading, 0);
        good = !reading.cursor.bad && schema->type_count > 0;
    }
    free(reading.strings);
    if (!good)
        return false;
    qsort(schema->types, (size_t)schema->type_count, sizeof *schema->types, by_id);
    for (int i = 0; i < schema->field_count; i++)
        schema->fields[i].type = jfr_schema_type(schema, schema->fields[i].type_id);
    return true;
}

void jfr_schema_free(struct jfr_schema *schema)
{
    free(schema->types);
    free(schema->fields);
    *schema = (struct jfr_schema){0};
}
