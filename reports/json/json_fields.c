#include "reports/json/json_fields.h"

#include "reports/text/escape.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int count_beside(const struct field *field, const char *data)
{
    int count;
    memcpy(&count, data + field->beside, sizeof count);
    return count;
}

static const char *rows_of(const struct field *field, const char *data)
{
    const char *rows = data + field->offset;
    if (field->kind == FIELD_LIST_AT)
        memcpy(&rows, data + field->offset, sizeof rows);
    return rows;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_list(struct json_out *out, const struct field *field, const char *data)
{
    const char *rows = rows_of(field, data);
    json_out_begin(out, field->key, '[');
    for (int i = 0; i < count_beside(field, data); i++)
        fields_write_object(out, NULL, field->record, rows + (size_t)i * field->record->size);
    json_out_end(out, ']');
}

static void write_field(struct json_out *out, const struct field *field, const char *data,
                        bool nulls)
{
    const char *at = data + field->offset;
    size_t size = field->size;
    int64_t number;
    int small;
    bool yes;
    switch (field->kind) {
    case FIELD_MAYBE_INT:
        memcpy(&yes, data + field->beside, sizeof yes);
        if (!yes)
            break;
        /* fall through */
    case FIELD_INT:
        memcpy(&number, at, sizeof number);
        json_out_int(out, field->key, number);
        break;
    case FIELD_SMALL:
        memcpy(&small, at, sizeof small);
        json_out_int(out, field->key, small);
        break;
    case FIELD_BOOL:
        memcpy(&yes, at, sizeof yes);
        json_out_bool(out, field->key, yes);
        break;
    case FIELD_TEXT_AT:
    case FIELD_NULLABLE_AT:
        memcpy(&at, data + field->offset, sizeof at);
        size = (size_t)field->max;
        if (field->kind == FIELD_TEXT_AT) {
            json_out_field(out, field->key, at, size);
            break;
        }
        /* fall through */
    case FIELD_NULLABLE:
        if (*at == '\0' && !nulls)
            break;
        if (*at == '\0') {
            json_out_null(out, field->key);
            break;
        }
        /* fall through */
    case FIELD_TEXT:
        json_out_field(out, field->key, at, size);
        break;
    case FIELD_NAME:
        memcpy(&small, at, sizeof small);
        json_out_text(out, field->key, field->names->name(small));
        break;
    case FIELD_MEMBERS:
        fields_write(out, field->record, at, nulls);
        break;
    case FIELD_OBJECT:
        fields_write_object(out, field->key, field->record, at);
        break;
    case FIELD_LIST:
    case FIELD_LIST_AT:
        write_list(out, field, data);
        break;
    case FIELD_OWN:
        field->write(out, field->key, data);
        break;
    }
}

void fields_write(struct json_out *out, const struct record *record, const void *data, bool nulls)
{
    for (int i = 0; i < record->count; i++)
        write_field(out, &record->fields[i], data, nulls);
}

void fields_write_object(struct json_out *out, const char *key, const struct record *record,
                         const void *data)
{
    json_out_begin(out, key, '{');
    fields_write(out, record, data, false);
    json_out_end(out, '}');
}

static void write_real(struct json_out *out, const char *key, const json_t *value)
{
    char *digits = json_dumps(value, JSON_ENCODE_ANY);
    if (digits != NULL)
        json_out_number(out, key, digits);
    else
        out->failed = true;
    free(digits);
}

void json_out_value(struct json_out *out, const char *key, const json_t *value)
{
    const char *name;
    json_t *member;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        json_out_begin(out, key, '{');
        json_object_foreach ((json_t *)value, name, member) {
            json_out_value(out, name, member);
        }
        json_out_end(out, '}');
        break;
    case JSON_ARRAY:
        json_out_begin(out, key, '[');
        for (size_t i = 0; i < json_array_size(value); i++)
            json_out_value(out, NULL, json_array_get(value, i));
        json_out_end(out, ']');
        break;
    case JSON_STRING:
        json_out_text(out, key, json_string_value(value));
        break;
    case JSON_INTEGER:
        json_out_int(out, key, json_integer_value(value));
        break;
    case JSON_REAL:
        write_real(out, key, value);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        json_out_bool(out, key, json_is_true(value));
        break;
    case JSON_NULL:
        json_out_null(out, key);
        break;
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

void reading_complain(struct json_reading *reading, const char *format, ...)
{
    va_list arguments;
    if (reading->failed)
        return;
    reading->failed = true;
    va_start(arguments, format);
    vsnprintf(reading->error, reading->error_size, format, arguments);
    va_end(arguments);
}

static void complain_of(struct json_reading *reading, const json_t *value, const char *key,
                        const char *wanted)
{
    if (value == NULL)
        reading_complain(reading, "\"%s\" is missing", escape_name(key).text);
    else
        reading_complain(reading, "\"%s\" is not %s", escape_name(key).text, wanted);
}

int64_t reading_int(struct json_reading *reading, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_integer(value))
        return json_integer_value(value);
    complain_of(reading, value, key, "an integer");
    return 0;
}

bool reading_bool(struct json_reading *reading, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value))
        complain_of(reading, value, key, "true or false");
    return json_is_true(value);
}

static int64_t read_number(struct json_reading *reading, const struct field *field,
                           const json_t *object)
{
    int64_t number = reading_int(reading, object, field->key);
    bool small = field->kind == FIELD_SMALL && (number < 0 || number > INT_MAX);
    if (!small && (!reading->strict || number >= field->least))
        return number;
    reading_complain(reading, "\"%s\" is out of range", field->key);
    return 0;
}

const char *reading_keep(struct json_reading *reading, const char *text, size_t size)
{
    char own[1024];
    escape(ESCAPE_UTF8, text, own, size < sizeof own ? size : sizeof own);
    return texts_copy(reading->texts, own);
}

static void read_text(struct json_reading *reading, const struct field *field, const json_t *object,
                      char *at)
{
    const json_t *value = json_object_get(object, field->key);
    bool apart = field->kind == FIELD_TEXT_AT || field->kind == FIELD_NULLABLE_AT;
    bool may_lack = field->kind == FIELD_NULLABLE || field->kind == FIELD_NULLABLE_AT;
    const char *kept = "";
    if (!apart)
        at[0] = '\0';
    if (apart && json_is_string(value))
        kept = reading_keep(reading, json_string_value(value), (size_t)field->max);
    if (apart)
        memcpy(at, &kept, sizeof kept);
    if (may_lack && (value == NULL || json_is_null(value)))
        return;
    if (json_is_string(value) && !apart)
        escape(ESCAPE_UTF8, json_string_value(value), at, field->size);
    else if (!json_is_string(value))
        complain_of(reading, value, field->key, "a text");
}

static int read_name(struct json_reading *reading, const struct field *field, const json_t *object)
{
    const json_t *value = json_object_get(object, field->key);
    const char *text = json_string_value(value);
    for (int i = 0; i < field->names->count && text != NULL; i++)
        if (strcmp(field->names->name(i), text) == 0)
            return i;
    if (text == NULL)
        complain_of(reading, value, field->key, "a text");
    else if (field->names->open)
        reading->unknown = true;
    else
        reading_complain(reading, "\"%s\" is none that is known", field->key);
    return 0;
}

static void read_list(struct json_reading *reading, const struct field *field, const json_t *object,
                      char *data)
{
    const json_t *rows = json_object_get(object, field->key);
    char *into = (char *)rows_of(field, data);
    int count = 0;
    if (!json_is_array(rows) || json_array_size(rows) > (size_t)field->max)
        reading_complain(reading, "\"%s\" is not an array of at most %d objects", field->key,
                         field->max);
    else
        count = (int)json_array_size(rows);
    for (int i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        if (!json_is_object(row)) {
            reading_complain(reading, "\"%s\" holds something that is not an object", field->key);
            count = 0;
            break;
        }
        fields_read(reading, field->record, row, into + (size_t)i * field->record->size);
    }
    memcpy(data + field->beside, &count, sizeof count);
}

static void read_field(struct json_reading *reading, const struct field *field,
                       const json_t *object, char *data)
{
    char *at = data + field->offset;
    const json_t *value;
    int64_t number;
    int small;
    bool yes;
    switch (field->kind) {
    case FIELD_MAYBE_INT:
        yes = json_object_get(object, field->key) != NULL;
        memcpy(data + field->beside, &yes, sizeof yes);
        if (!yes)
            break;
        /* fall through */
    case FIELD_INT:
        number = read_number(reading, field, object);
        memcpy(at, &number, sizeof number);
        break;
    case FIELD_SMALL:
        small = (int)read_number(reading, field, object);
        memcpy(at, &small, sizeof small);
        break;
    case FIELD_BOOL:
        yes = reading_bool(reading, object, field->key);
        memcpy(at, &yes, sizeof yes);
        break;
    case FIELD_TEXT:
    case FIELD_NULLABLE:
    case FIELD_TEXT_AT:
    case FIELD_NULLABLE_AT:
        read_text(reading, field, object, at);
        break;
    case FIELD_NAME:
        small = read_name(reading, field, object);
        memcpy(at, &small, sizeof small);
        break;
    case FIELD_MEMBERS:
        fields_read(reading, field->record, object, at);
        break;
    case FIELD_OBJECT:
        value = json_object_get(object, field->key);
        if (json_is_object(value))
            fields_read(reading, field->record, value, at);
        else
            complain_of(reading, value, field->key, "an object");
        break;
    case FIELD_LIST:
    case FIELD_LIST_AT:
        read_list(reading, field, object, data);
        break;
    case FIELD_OWN:
        if (field->read != NULL)
            field->read(reading, object, field->key, data);
        break;
    }
}

void fields_read(struct json_reading *reading, const struct record *record, const json_t *object,
                 void *data)
{
    for (int i = 0; i < record->count && !reading->unknown; i++)
        read_field(reading, &record->fields[i], object, data);
}
