#include "nmtwatch/jfr/jfr_schema.h"

#include <stdlib.h>

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
    for (int i = 0; i < JFR_NAMES; i++) {
        if (span_equals(name, span_from_cstr(names[i])))
            return (enum jfr_name)i;
    }
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
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++) {
        if (span_equals(name, span_from_cstr(primitives[i].name)))
            return primitives[i].layout;
    }
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
