/* json_fields: structs <-> JSON objects by tables: a record is a list of fields, a field says its
 * key, what it is and where it stands in the struct. The table is written once, as rows of a .def,
 * and is writer and reader; the schemas of docs/schema are checked against it
 * (tests/unit/reports/records_test.c).
 *
 *   fields_write(&out, &record, &data, false)          fields_read(&reading, &record, object,
 * &data)
 *
 * Writing goes in the order of the rows and allocates nothing but the text's room. Reading continues
 * after a mistake, with 0 or an empty text; the first mistake is the one that is reported. Keys that
 * have no row are passed over. One thread for each text. */
#ifndef REPORTS_JSON_FIELDS_H
#define REPORTS_JSON_FIELDS_H

#include "analyzers/model/texts.h"
#include "reports/json/json_out.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
    FIELD_INT,      /* int64_t */
    FIELD_SMALL,    /* int, from 0 on */
    FIELD_BOOL,     /* bool */
    FIELD_TEXT,     /* char[]; cut to what fits, which is valid UTF-8 */
    FIELD_NULLABLE, /* char[]; empty: null, or left out */
    FIELD_TEXT_AT,  /* const char *; cut to max bytes with NUL; read into the reading's texts */
    FIELD_NULLABLE_AT,
    FIELD_NAME,      /* an enum by the names of its values */
    FIELD_MAYBE_INT, /* int64_t with a bool beside it that says whether it is there */
    FIELD_MEMBERS,   /* a struct whose fields stand in the same object */
    FIELD_OBJECT,    /* a struct */
    FIELD_LIST,      /* an array of structs, its count an int beside it */
    FIELD_LIST_AT,   /* the same, behind a pointer that the reader finds set to room for max */
    FIELD_OWN,       /* functions of its own */
};

struct json_reading {
    char *error; /* one sentence that names the key */
    size_t error_size;
    bool strict; /* a number below its least is a mistake */
    bool failed;
    bool unknown;        /* a name that may be of a later version */
    struct texts *texts; /* where TEXT_AT and evidence go */
};

struct field_names {
    int count;
    const char *(*name)(int value);
    bool open; /* a name that is not known may be of a later version */
};

struct record;

struct field {
    const char *key;
    enum field_kind kind;
    size_t offset, size;
    int64_t least; /* what the schema calls minimum; INT64_MIN: none */
    size_t beside; /* MAYBE_INT: its bool; LIST: its count */
    int max;       /* LIST, TEXT_AT */
    const struct record *record;
    const struct field_names *names;
    /* OWN: read may be NULL (it is made of other fields), and gets the object that holds the key */
    void (*write)(struct json_out *out, const char *key, const void *data);
    void (*read)(struct json_reading *reading, const json_t *object, const char *key, void *data);
};

struct record {
    size_t size; /* of the struct */
    int count;
    const struct field *fields;
};

/* Members of an open object. nulls: an empty NULLABLE is null, else it is left out. */
void fields_write(struct json_out *out, const struct record *record, const void *data, bool nulls);
/* One value, an object or a list, with its key (NULL: the outermost). */
void fields_write_object(struct json_out *out, const char *key, const struct record *record,
                         const void *data);
void fields_read(struct json_reading *reading, const struct record *record, const json_t *object,
                 void *data);
/* A JSON value of other origin, unchanged; texts are escaped as all others. */
void json_out_value(struct json_out *out, const char *key, const json_t *value);

/* For readers of their own. */
__attribute__((format(printf, 2, 3))) void reading_complain(struct json_reading *reading,
                                                            const char *format, ...);
/* Valid UTF-8 of at most size bytes with NUL, in the reading's texts. */
const char *reading_keep(struct json_reading *reading, const char *text, size_t size);
int64_t reading_int(struct json_reading *reading, const json_t *object, const char *key);
bool reading_bool(struct json_reading *reading, const json_t *object, const char *key);

#endif

/* Rows: a file that defines JSON_FIELD_ROWS before the include makes records by including a .def.
 * RECORD_END defines `const struct record NAME_record`, which is declared in a header. */
#if defined JSON_FIELD_ROWS && !defined JSON_FIELD_ROWS_DONE
#define JSON_FIELD_ROWS_DONE
#define FIELD_AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define RECORD(name, type)     static const struct field name##_fields[] = {
#define RECORD_END(name, type)                                                                     \
    }                                                                                              \
    ;                                                                                              \
    const struct record name##_record = {                                                          \
        sizeof(type), (int)(sizeof name##_fields / sizeof *name##_fields), name##_fields};
#define INT(type, member, name, minimum)                                                           \
    {.kind = FIELD_INT, .key = name, .least = minimum, FIELD_AT(type, member)},
#define SMALL(type, member, name)    {.kind = FIELD_SMALL, .key = name, FIELD_AT(type, member)},
#define BOOL(type, member, name)     {.kind = FIELD_BOOL, .key = name, FIELD_AT(type, member)},
#define TEXT(type, member, name)     {.kind = FIELD_TEXT, .key = name, FIELD_AT(type, member)},
#define NULLABLE(type, member, name) {.kind = FIELD_NULLABLE, .key = name, FIELD_AT(type, member)},
#define TEXT_AT(type, member, name, most)                                                          \
    {.kind = FIELD_TEXT_AT, .key = name, .max = most, FIELD_AT(type, member)},
#define NULLABLE_AT(type, member, name, most)                                                      \
    {.kind = FIELD_NULLABLE_AT, .key = name, .max = most, FIELD_AT(type, member)},
#define NAME(type, member, name, values)                                                           \
    {.kind = FIELD_NAME, .key = name, .names = &(values), FIELD_AT(type, member)},
#define MAYBE_INT(type, member, name, have)                                                        \
    {.kind = FIELD_MAYBE_INT,                                                                      \
     .key = name,                                                                                  \
     .least = INT64_MIN,                                                                           \
     .beside = offsetof(type, have),                                                               \
     FIELD_AT(type, member)},
#define MEMBERS(type, member, of)                                                                  \
    {.kind = FIELD_MEMBERS, .key = "", .record = &of##_record, FIELD_AT(type, member)},
#define OBJECT(type, member, name, of)                                                             \
    {.kind = FIELD_OBJECT, .key = name, .record = &of##_record, FIELD_AT(type, member)},
/* The struct itself: its other half; an object around it. */
#define WHOLE(type, of)        {.kind = FIELD_MEMBERS, .key = "", .record = &of##_record},
#define INSIDE(type, name, of) {.kind = FIELD_OBJECT, .key = name, .record = &of##_record},
#define LIST(type, member, name, of, counter, most)                                                \
    {.kind = FIELD_LIST,                                                                           \
     .key = name,                                                                                  \
     .record = &of##_record,                                                                       \
     .max = most,                                                                                  \
     .beside = offsetof(type, counter),                                                            \
     FIELD_AT(type, member)},
#define LIST_AT(type, member, name, of, counter, most)                                             \
    {.kind = FIELD_LIST_AT,                                                                        \
     .key = name,                                                                                  \
     .record = &of##_record,                                                                       \
     .max = most,                                                                                  \
     .beside = offsetof(type, counter),                                                            \
     FIELD_AT(type, member)},
#define OWN(name, writer, reader) {.kind = FIELD_OWN, .key = name, .write = writer, .read = reader},
#endif
