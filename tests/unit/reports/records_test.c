/* The tables that write and read recordings against the schemas that describe them: each row is a
 * property of its type, with its minimum, and required; each property is a row. */
#include "reports/json/event_json.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static json_t *lines, *definitions;

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL)
        fail_msg("%s: %s", path, error.text);
    return root;
}

/* Follows {"$ref": "definitions.json#/$defs/x"} and "#/$defs/x". */
static const json_t *follow(const json_t *node)
{
    const char *reference = json_string_value(json_object_get(node, "$ref"));
    if (reference == NULL)
        return node;
    const char *name = strrchr(reference, '/') + 1;
    const json_t *found = strncmp(reference, "definitions.json", 16) != 0
                              ? json_object_get(json_object_get(lines, "$defs"), name)
                              : NULL;
    if (found == NULL)
        found = json_object_get(json_object_get(definitions, "$defs"), name);
    assert_non_null(found);
    return follow(found);
}

static bool is_of_type(const json_t *node, const char *type)
{
    const json_t *types = json_object_get(node, "type");
    if (json_is_string(types))
        return strcmp(json_string_value(types), type) == 0;
    for (size_t i = 0; i < json_array_size(types); i++) {
        if (strcmp(json_string_value(json_array_get(types, i)), type) == 0)
            return true;
    }
    return false;
}

static bool is_required(const json_t *schema, const char *key)
{
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        if (strcmp(json_string_value(json_array_get(required, i)), key) == 0)
            return true;
    }
    return false;
}

static int compare(const char *where, const struct record *record, const json_t *schema);

static void compare_names(const char *where, const struct field_names *names,
                          const json_t *property)
{
    const json_t *values = json_object_get(property, "enum");
    if ((int)json_array_size(values) != names->count)
        fail_msg("%s: the schema has %zu names, the table %d", where, json_array_size(values),
                 names->count);
    for (int i = 0; i < names->count; i++) {
        bool found = false;
        for (size_t k = 0; k < json_array_size(values); k++)
            found =
                found || strcmp(json_string_value(json_array_get(values, k)), names->name(i)) == 0;
        if (!found)
            fail_msg("%s: the schema does not know %s", where, names->name(i));
    }
}

static void compare_list(const char *where, const struct field *field, const json_t *property)
{
    const json_t *most = json_object_get(property, "maxItems");
    const json_t *items = follow(json_object_get(property, "items"));
    if (!is_of_type(property, "array") || json_integer_value(most) != field->max)
        fail_msg("%s: it is an array of at most %d", where, field->max);
    assert_int_equal(compare(where, field->record, items),
                     json_object_size(json_object_get(items, "properties")));
}

/* Returns how many properties the row is. */
static int compare_field(const char *before, const struct field *field, const json_t *schema)
{
    char where[200];
    snprintf(where, sizeof where, "%s/%s", before, field->key);
    if (field->kind == FIELD_MEMBERS)
        return compare(before, field->record, schema);
    if (field->key[0] == '\0')
        return 0; /* the values of a sample, below */
    const json_t *written = json_object_get(json_object_get(schema, "properties"), field->key);
    if (written == NULL)
        fail_msg("%s is not in the schema", where);
    const json_t *property = follow(written), *minimum = json_object_get(property, "minimum");
    bool optional = field->kind == FIELD_MAYBE_INT || field->kind == FIELD_NULLABLE ||
                    field->kind == FIELD_NULLABLE_AT || strcmp(field->key, "nmt") == 0;
    bool sample = strcmp(before, "tick") == 0;
    if (!optional && !is_required(schema, field->key))
        fail_msg("%s is always written, and not required", where);
    switch (field->kind) {
    case FIELD_INT:
    case FIELD_SMALL:
    case FIELD_MAYBE_INT:
        if (json_object_get(property, "const") != NULL)
            break; /* "schema" */
        if (!is_of_type(property, "integer"))
            fail_msg("%s is an integer", where);
        if ((minimum == NULL ? INT64_MIN : json_integer_value(minimum)) != field->least)
            fail_msg("%s: the least in the schema is not that of the table", where);
        break;
    case FIELD_BOOL:
        if (!is_of_type(property, "boolean"))
            fail_msg("%s is true or false", where);
        break;
    case FIELD_NULLABLE:
    case FIELD_NULLABLE_AT:
    case FIELD_TEXT_AT:
    case FIELD_TEXT:
        if (!is_of_type(property, "string") && json_object_get(property, "enum") == NULL)
            fail_msg("%s is a text", where);
        break;
    case FIELD_NAME:
        compare_names(where, field->names, property);
        break;
    case FIELD_OBJECT:
        assert_int_equal(compare(where, field->record, property),
                         json_object_size(json_object_get(property, "properties")));
        break;
    case FIELD_LIST:
    case FIELD_LIST_AT:
        compare_list(where, field, property);
        break;
    case FIELD_OWN:
        assert_true(sample || strcmp(field->key, "runbook") == 0 || is_of_type(property, "object"));
        break;
    case FIELD_MEMBERS:
        break;
    }
    return 1;
}

/* Returns how many properties the rows are. */
static int compare(const char *where, const struct record *record, const json_t *schema)
{
    int count = 0;
    for (int i = 0; i < record->count; i++)
        count += compare_field(where, &record->fields[i], schema);
    return count;
}

static const struct {
    const char *type;
    const struct record *record;
    int others; /* type, ms, pid */
} LINES[] = {
    {"header", &header_record, 1},   {"loaders", &loaders_record, 3},
    {"names", &names_record, 3},     {"cost", &cost_record, 3},
    {"note", &words_record, 3},      {"baseline", &words_record, 3},
    {"gone", &words_record, 3},      {"alert", &alert_record, 3},
    {"end", &end_record, 2},         {"histogram", &histogram_record, 3},
    {"callers", &callers_record, 3}, {"methods", &methods_record, 3},
};

static void each_line_is_its_schema(void **state)
{
    (void)state;
    const json_t *defs = json_object_get(lines, "$defs");
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        const json_t *schema = json_object_get(defs, LINES[i].type);
        int rows = compare(LINES[i].type, LINES[i].record, schema);
        int properties = (int)json_object_size(json_object_get(schema, "properties"));
        if (rows + LINES[i].others != properties)
            fail_msg("%s: the schema has %d properties, the table %d", LINES[i].type, properties,
                     rows + LINES[i].others);
    }
    /* Every line of the schema was compared, but ticks: below. */
    assert_int_equal(json_array_size(json_object_get(lines, "oneOf")),
                     sizeof LINES / sizeof *LINES + 1);
}

static void a_tick_is_its_schema(void **state)
{
    (void)state;
    const json_t *tick = json_object_get(json_object_get(lines, "$defs"), "tick");
    const json_t *sample = json_object_get(json_object_get(definitions, "$defs"), "sample");
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        const char *key = sample_field_key((enum sample_field)i);
        const json_t *places[] = {tick, sample};
        for (int k = 0; k < 2; k++) {
            const json_t *property = json_object_get(json_object_get(places[k], "properties"), key);
            if (property == NULL || !is_of_type(property, "integer"))
                fail_msg("%s is an integer of a sample", key);
        }
    }
    assert_int_equal(json_object_size(json_object_get(sample, "properties")),
                     SAMPLE_FIELD_COUNT + 1); /* nmt */
    assert_int_equal(compare("tick", &tick_record, tick), 1);
}

static void shared_parts_are_their_schemas(void **state)
{
    (void)state;
    const json_t *defs = json_object_get(definitions, "$defs");
    const struct {
        const char *name;
        const struct record *record;
    } parts[] = {{"target", &target_record},
                 {"finding", &finding_record},
                 {"command_cost", &command_cost_record}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const json_t *schema = json_object_get(defs, parts[i].name);
        assert_int_equal(compare(parts[i].name, parts[i].record, schema),
                         json_object_size(json_object_get(schema, "properties")));
    }
}

/* A number below its least is a mistake only where the reading is strict: recordings of earlier
 * versions stay readable. */
static void limits_are_kept_where_they_are_asked_for(void **state)
{
    (void)state;
    char error[100];
    struct watch_command_cost cost;
    json_t *object = json_pack("{s:s, s:i, s:i, s:i}", "command", "VM.classes", "runs", -1,
                               "skipped", 0, "measured_us", 0);
    for (int strict = 0; strict < 2; strict++) {
        struct json_reading reading = {
            .error = error, .error_size = sizeof error, .strict = strict != 0};
        fields_read(&reading, &command_cost_record, object, &cost);
        assert_int_equal(reading.failed, strict);
    }
    assert_string_equal(error, "\"runs\" is out of range");
    json_decref(object);
}

static int open_schemas(void **state)
{
    (void)state;
    lines = load("docs/schema/recording-line.json");
    definitions = load("docs/schema/definitions.json");
    return 0;
}

static int close_schemas(void **state)
{
    (void)state;
    json_decref(lines);
    json_decref(definitions);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_its_schema),
        cmocka_unit_test(a_tick_is_its_schema),
        cmocka_unit_test(shared_parts_are_their_schemas),
        cmocka_unit_test(limits_are_kept_where_they_are_asked_for),
    };
    return cmocka_run_group_tests_name("records", tests, open_schemas, close_schemas);
}
