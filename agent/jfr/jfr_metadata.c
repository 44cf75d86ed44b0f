#include "agent/jfr/jfr_internal.h"

#include "agent/context/context.h"
#include "agent/jfr/jfr_bytes.h"
#include "agent/jfr/jfr_types.h"
#include "agent/mem/fold_hash.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- the table -------------------------------------------------------------------------------- */

enum row_kind {
    ROW_PRIMITIVE,
    ROW_STRUCT,
    ROW_SIMPLE,
    ROW_ANNOTATION,
    ROW_EVENT,
    ROW_FIELD,
    ROW_CONTEXT,
};
enum trait { PLAIN, POOL, ARRAY, TICKS, BYTES, UNSIGNED, NOTE, CONTENT };

struct row {
    enum row_kind kind;
    enum jfr_type type; /* its own; of a field: the type of its value */
    const char *name, *label;
    enum trait trait;
    const char *description, *category, *subcategory;
};

static const struct row rows[] = {
#define PRIMITIVE(id, name)     {ROW_PRIMITIVE, JFR_##id, name, NULL, PLAIN, NULL, NULL, NULL},
#define STRUCT(id, name, label) {ROW_STRUCT, JFR_##id, name, label, PLAIN, NULL, NULL, NULL},
#define SIMPLE(id, name, label) {ROW_SIMPLE, JFR_##id, name, label, PLAIN, NULL, NULL, NULL},
#define ANNOTATION(id, name, label, content)                                                       \
    {ROW_ANNOTATION, JFR_##id, name, label, content, NULL, NULL, NULL},
#define EVENT(id, name, label, description, category, subcategory)                                 \
    {ROW_EVENT, JFR_##id, name, label, PLAIN, description, category, subcategory},
#define FIELD(name, type, label, trait)                                                            \
    {ROW_FIELD, JFR_##type, name, label, trait, NULL, NULL, NULL},
#define CONTEXT_FIELDS() {ROW_CONTEXT, JFR_LONG, NULL, NULL, PLAIN, NULL, NULL, NULL},
#include "agent/jfr/jfr_types.def"
#undef PRIMITIVE
#undef STRUCT
#undef SIMPLE
#undef ANNOTATION
#undef EVENT
#undef FIELD
#undef CONTEXT_FIELDS
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

static const struct row context_rows[] = {
    {ROW_FIELD, JFR_LONG, "spanId", "Span Id", UNSIGNED, NULL, NULL, NULL},
    {ROW_FIELD, JFR_LONG, "rootSpanId", "Root Span Id", UNSIGNED, NULL, NULL, NULL},
};
#define CONTEXT_ROWS (sizeof context_rows / sizeof context_rows[0])

/* --- ids that move ---------------------------------------------------------------------------- */

uint32_t jfr_pool_type_id(enum jfr_type type, uint32_t salt)
{
    static const enum jfr_type moving[] = {JFR_SYMBOL, JFR_THREAD, JFR_PACKAGE,
                                           JFR_CLASS,  JFR_METHOD, JFR_STACK_TRACE};
    for (uint32_t i = 0; i < sizeof moving / sizeof moving[0]; i++) {
        if (moving[i] == type)
            return (salt + 1) * 8 + JFR_TYPE_END + i;
    }
    return type;
}

/* Two salts in turn: a reader that keeps something for every type id it has met keeps it twice, not
 * once a chunk. */
uint32_t jfr_chunk_salt(uint64_t recording, int64_t chunk)
{
    uint32_t mixed = (uint32_t)(fold_word(recording) >> 44);
    return mixed << 1 | (uint32_t)(chunk & 1);
}

/* --- strings and elements --------------------------------------------------------------------- */

struct building {
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

static void type_attribute(struct building *building, const char *key, enum jfr_type type)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, jfr_pool_type_id(type, building->salt));
    attribute(building, key, text);
}

static void child_count(struct building *building, unsigned count)
{
    jfr_bytes_number(&building->elements, count);
}

static void annotation(struct building *building, enum jfr_type type, const char *value)
{
    begin_element(building, "annotation", value != NULL ? 2 : 1);
    type_attribute(building, "class", type);
    if (value != NULL)
        attribute(building, "value", value);
    child_count(building, 0);
}

static void category(struct building *building, const struct row *row)
{
    begin_element(building, "annotation", 3);
    type_attribute(building, "class", JFR_CATEGORY);
    attribute(building, "value-0", row->category);
    attribute(building, "value-1", row->subcategory);
    child_count(building, 0);
}

/* --- fields and classes ----------------------------------------------------------------------- */

static void field(struct building *building, const struct row *row)
{
    bool special = row->trait == POOL || row->trait == ARRAY;
    bool content = row->trait == TICKS || row->trait == BYTES || row->trait == UNSIGNED;
    begin_element(building, "field", special ? 3 : 2);
    attribute(building, "name", row->name);
    type_attribute(building, "class", row->type);
    if (row->trait == POOL)
        attribute(building, "constantPool", "true");
    if (row->trait == ARRAY)
        attribute(building, "dimension", "1");
    child_count(building, (row->label != NULL) + content);
    if (row->label != NULL)
        annotation(building, JFR_LABEL, row->label);
    if (row->trait == TICKS)
        annotation(building, JFR_TIMESTAMP, "TICKS");
    if (row->trait == BYTES)
        annotation(building, JFR_DATA_AMOUNT, "BYTES");
    if (row->trait == UNSIGNED)
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
    char names[NMTAGENT_CONTEXT_TAGS][FIELD_NAME_MAX];
    for (size_t i = 0; i < CONTEXT_ROWS; i++)
        field(building, &context_rows[i]);
    for (int i = 0; i < building->tag_count; i++) {
        field_name(building->tags[i], names, i);
        struct row row = {.kind = ROW_FIELD,
                          .type = JFR_STRING,
                          .name = names[i],
                          .label = building->tags[i],
                          .trait = PLAIN};
        field(building, &row);
    }
}

/* Writes the class of a row and the fields below it; returns the row behind. */
static const struct row *class_of(struct building *building, const struct row *row)
{
    const struct row *end = rows + ROW_COUNT, *next = row + 1;
    unsigned fields = 0;
    for (; next < end && (next->kind == ROW_FIELD || next->kind == ROW_CONTEXT); next++)
        fields += next->kind == ROW_FIELD ? 1 : CONTEXT_ROWS + (unsigned)building->tag_count;

    const char *super = row->kind == ROW_EVENT        ? "jdk.jfr.Event"
                        : row->kind == ROW_ANNOTATION ? "java.lang.annotation.Annotation"
                                                      : NULL;
    begin_element(building, "class", 2 + (super != NULL) + (row->kind == ROW_SIMPLE));
    attribute(building, "name", row->name);
    type_attribute(building, "id", row->type);
    if (super != NULL)
        attribute(building, "superType", super);
    if (row->kind == ROW_SIMPLE)
        attribute(building, "simpleType", "true");

    unsigned annotations = (row->label != NULL) + (row->description != NULL) +
                           (row->category != NULL) + (row->trait == CONTENT);
    child_count(building, fields + annotations);
    for (const struct row *at = row + 1; at < next; at++) {
        if (at->kind == ROW_FIELD)
            field(building, at);
        else
            context_fields(building);
    }
    if (row->trait == CONTENT)
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
    unsigned classes = 0;
    for (size_t i = 0; i < ROW_COUNT; i++)
        classes += rows[i].kind != ROW_FIELD && rows[i].kind != ROW_CONTEXT;

    begin_element(building, "root", 0);
    child_count(building, 2);
    begin_element(building, "metadata", 0);
    child_count(building, classes);
    for (const struct row *row = rows; row < rows + ROW_COUNT;)
        row = class_of(building, row);
    begin_element(building, "region", 2);
    attribute(building, "locale", "en");
    attribute(building, "gmtOffset", "0");
    child_count(building, 0);
}

/* --- the event -------------------------------------------------------------------------------- */

void jfr_metadata_append(struct jfr_bytes *bytes, uint32_t salt, int64_t ticks,
                         const char *const *tags, int tag_count)
{
    struct building building = {.salt = salt, .tags = tags};
    building.tag_count = tag_count < NMTAGENT_CONTEXT_TAGS ? tag_count : NMTAGENT_CONTEXT_TAGS;
    tree(&building);
    const struct jfr_bytes *texts = &building.texts, *elements = &building.elements;
    uint64_t id = fold_hash(elements->at, elements->length, fold_hash(texts->at, texts->length, 0));

    size_t start = bytes->length;
    uint8_t *size = jfr_bytes_room(bytes, 4);
    if (size != NULL)
        bytes->length += 4;
    jfr_bytes_number(bytes, JFR_METADATA_EVENT);
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
