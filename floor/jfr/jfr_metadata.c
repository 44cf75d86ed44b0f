#include "floor/jfr/jfr_metadata.h"

#include "floor/base/fold_hash.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The same number in every table: they begin with the same types. */
enum jfr_type {
    JFR_LAST_BEFORE_TYPES = JFR_TYPE_BEFORE_FIRST,
#define JFR_TABLE "floor/jfr/jfr_base_types.def"
#include "floor/jfr/jfr_table.def"
};

static const struct jfr_type_row context_rows[] = {
    {JFR_ROW_FIELD, JFR_LONG, "spanId", "Span Id", JFR_AS_UNSIGNED, NULL, NULL, NULL},
    {JFR_ROW_FIELD, JFR_LONG, "rootSpanId", "Root Span Id", JFR_AS_UNSIGNED, NULL, NULL, NULL},
};
#define CONTEXT_ROWS (sizeof context_rows / sizeof context_rows[0])

/* --- strings and elements --------------------------------------------------------------------- */

struct building {
    const struct jfr_type_table *table;
    struct jfr_bytes texts; /* NUL-terminated, one behind the other */
    uint32_t text_count;
    struct jfr_bytes elements;
    uint32_t salt;
    const char *const *tags;
    int tag_count;
};

static uint32_t number_of(struct building *building, const char *text)
{
    size_t size = strlen(text) + 1;
    uint32_t number = 0;
    for (size_t at = 0; at < building->texts.length; number++) {
        const char *other = (const char *)building->texts.at + at;
        if (strcmp(other, text) == 0)
            return number;
        at += strlen(other) + 1;
    }
    jfr_bytes_append(&building->texts, text, size);
    return building->text_count++;
}

static void put_text(struct building *building, const char *text)
{
    jfr_bytes_number(&building->elements, number_of(building, text));
}

/* An element is: name, attribute_count, attributes, child_count, children. */
static void begin_element(struct building *building, const char *name, unsigned attribute_count)
{
    put_text(building, name);
    jfr_bytes_number(&building->elements, attribute_count);
}

static void attribute(struct building *building, const char *key, const char *value)
{
    put_text(building, key);
    put_text(building, value);
}

static void type_attribute(struct building *building, const char *key, uint32_t type)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, building->table->id(type, building->salt));
    attribute(building, key, text);
}

static void child_count(struct building *building, unsigned count)
{
    jfr_bytes_number(&building->elements, count);
}

static void annotation(struct building *building, uint32_t type, const char *value)
{
    begin_element(building, "annotation", value != NULL ? 2 : 1);
    type_attribute(building, "class", type);
    if (value != NULL)
        attribute(building, "value", value);
    child_count(building, 0);
}

static void category(struct building *building, const struct jfr_type_row *row)
{
    begin_element(building, "annotation", row->subcategory != NULL ? 3 : 2);
    type_attribute(building, "class", JFR_CATEGORY);
    attribute(building, "value-0", row->category);
    if (row->subcategory != NULL)
        attribute(building, "value-1", row->subcategory);
    child_count(building, 0);
}

/* --- fields and classes ----------------------------------------------------------------------- */

static void field(struct building *building, const struct jfr_type_row *row)
{
    bool special = row->trait == JFR_AS_POOL || row->trait == JFR_AS_ARRAY;
    bool content = row->trait == JFR_AS_TICKS || row->trait == JFR_AS_EPOCH_MS ||
                   row->trait == JFR_AS_BYTES || row->trait == JFR_AS_UNSIGNED;
    begin_element(building, "field", special ? 3 : 2);
    attribute(building, "name", row->name);
    type_attribute(building, "class", row->type);
    if (row->trait == JFR_AS_POOL)
        attribute(building, "constantPool", "true");
    if (row->trait == JFR_AS_ARRAY)
        attribute(building, "dimension", "1");
    child_count(building, (row->label != NULL) + content);
    if (row->label != NULL)
        annotation(building, JFR_LABEL, row->label);
    if (row->trait == JFR_AS_TICKS)
        annotation(building, JFR_TIMESTAMP, "TICKS");
    if (row->trait == JFR_AS_EPOCH_MS)
        annotation(building, JFR_TIMESTAMP, "MILLISECONDS_SINCE_EPOCH");
    if (row->trait == JFR_AS_BYTES)
        annotation(building, JFR_DATA_AMOUNT, "BYTES");
    if (row->trait == JFR_AS_UNSIGNED)
        annotation(building, JFR_UNSIGNED, NULL);
}

#define FIELD_NAME_MAX 64

static bool is_taken(const char *name, char names[][FIELD_NAME_MAX], int count)
{
    static const char *const fixed[] = {"startTime", "sampledThread", "stackTrace",  "state",
                                        "spanId",    "rootSpanId",    "eventThread", "duration"};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (strcmp(fixed[i], name) == 0)
            return true;
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

/* Readers take "a.b" for field b of field a: a name of a field is letters, digits and _. */
static void field_name(const char *tag, char names[][FIELD_NAME_MAX], int count)
{
    char *name = names[count];
    size_t length = 0;
    if (tag[0] == '\0' || isdigit((unsigned char)tag[0]))
        name[length++] = '_';
    for (; *tag != '\0' && length < FIELD_NAME_MAX - 4; tag++)
        name[length++] = isalnum((unsigned char)*tag) && (uint8_t)*tag < 0x80 ? *tag : '_';
    name[length] = '\0';
    for (int i = 2; is_taken(name, names, count); i++)
        snprintf(name + length, FIELD_NAME_MAX - length, "_%d", i);
}

static void context_fields(struct building *building)
{
    char names[JFR_TAGS_MAX][FIELD_NAME_MAX];
    for (size_t i = 0; i < CONTEXT_ROWS; i++)
        field(building, &context_rows[i]);
    for (int i = 0; i < building->tag_count; i++) {
        field_name(building->tags[i], names, i);
        struct jfr_type_row row = {.kind = JFR_ROW_FIELD,
                                   .type = JFR_STRING,
                                   .name = names[i],
                                   .label = building->tags[i],
                                   .trait = JFR_AS_PLAIN};
        field(building, &row);
    }
}

/* Writes the class of a row and the fields below it; returns the row behind. */
static const struct jfr_type_row *class_of(struct building *building,
                                           const struct jfr_type_row *row)
{
    const struct jfr_type_row *end = building->table->rows + building->table->count,
                              *next = row + 1;
    unsigned fields = 0;
    for (; next < end && (next->kind == JFR_ROW_FIELD || next->kind == JFR_ROW_CONTEXT); next++)
        fields += next->kind == JFR_ROW_FIELD ? 1 : CONTEXT_ROWS + (unsigned)building->tag_count;

    const char *super = row->kind == JFR_ROW_EVENT        ? "jdk.jfr.Event"
                        : row->kind == JFR_ROW_ANNOTATION ? "java.lang.annotation.Annotation"
                                                          : NULL;
    begin_element(building, "class", 2 + (super != NULL) + (row->kind == JFR_ROW_SIMPLE));
    attribute(building, "name", row->name);
    type_attribute(building, "id", row->type);
    if (super != NULL)
        attribute(building, "superType", super);
    if (row->kind == JFR_ROW_SIMPLE)
        attribute(building, "simpleType", "true");

    unsigned annotations = (row->label != NULL) + (row->description != NULL) +
                           (row->category != NULL) + (row->trait == JFR_AS_CONTENT);
    child_count(building, fields + annotations);
    for (const struct jfr_type_row *at = row + 1; at < next; at++) {
        if (at->kind == JFR_ROW_FIELD)
            field(building, at);
        else
            context_fields(building);
    }
    if (row->trait == JFR_AS_CONTENT)
        annotation(building, JFR_CONTENT_TYPE, NULL);
    if (row->label != NULL)
        annotation(building, JFR_LABEL, row->label);
    if (row->description != NULL)
        annotation(building, JFR_DESCRIPTION, row->description);
    if (row->category != NULL)
        category(building, row);
    return next;
}

static void tree(struct building *building)
{
    const struct jfr_type_row *rows = building->table->rows;
    unsigned classes = 0;
    for (size_t i = 0; i < building->table->count; i++)
        classes += rows[i].kind != JFR_ROW_FIELD && rows[i].kind != JFR_ROW_CONTEXT;

    begin_element(building, "root", 0);
    child_count(building, 2);
    begin_element(building, "metadata", 0);
    child_count(building, classes);
    for (const struct jfr_type_row *row = rows; row < rows + building->table->count;)
        row = class_of(building, row);
    begin_element(building, "region", 2);
    attribute(building, "locale", "en");
    attribute(building, "gmtOffset", "0");
    child_count(building, 0);
}

/* --- the event -------------------------------------------------------------------------------- */

void jfr_metadata_append(struct jfr_bytes *bytes, const struct jfr_type_table *table, uint32_t salt,
                         int64_t ticks, const char *const *tags, int tag_count)
{
    struct building building = {.table = table, .salt = salt, .tags = tags};
    building.tag_count = tag_count < JFR_TAGS_MAX ? tag_count : JFR_TAGS_MAX;
    tree(&building);
    const struct jfr_bytes *texts = &building.texts, *elements = &building.elements;
    uint64_t id = fold_hash(elements->at, elements->length, fold_hash(texts->at, texts->length, 0));

    size_t start = bytes->length;
    uint8_t *size = jfr_bytes_room(bytes, 4);
    if (size != NULL)
        bytes->length += 4;
    jfr_bytes_number(bytes, 0);
    jfr_bytes_number(bytes, (uint64_t)ticks);
    jfr_bytes_number(bytes, 0);
    jfr_bytes_number(bytes, id >> 1); /* positive as a Java long */
    jfr_bytes_number(bytes, building.text_count);
    for (size_t at = 0; at < building.texts.length;) {
        const char *text = (const char *)building.texts.at + at;
        jfr_bytes_text(bytes, text);
        at += strlen(text) + 1;
    }
    jfr_bytes_append(bytes, building.elements.at, building.elements.length);
    bytes->failed |= building.texts.failed || building.elements.failed;
    if (!bytes->failed)
        jfr_put_padded(bytes->at + start, (uint32_t)(bytes->length - start), 4);
    jfr_bytes_free(&building.texts);
    jfr_bytes_free(&building.elements);
}

/* --- the header ------------------------------------------------------------------------------- */

#define TICKS_PER_S 1000000000
#define COMPRESSED  1 /* flag: integers are LEB128 */

static uint8_t *put_big_endian(uint8_t *out, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        *out++ = (uint8_t)(value >> 8 * i);
    return out;
}

void jfr_chunk_header(const struct jfr_chunk *chunk, uint8_t out[JFR_HEADER_BYTES])
{
    const int64_t words[] = {chunk->size,     chunk->checkpoint_at, chunk->metadata_at,
                             chunk->start_ns, chunk->duration_ns,   chunk->start_ns,
                             TICKS_PER_S};
    memcpy(out, "FLR", 4);
    uint8_t *at = put_big_endian(out + 4, 2, 2);
    at = put_big_endian(at, 1, 2);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        at = put_big_endian(at, (uint64_t)words[i], 8);
    put_big_endian(at, COMPRESSED, 4);
}
