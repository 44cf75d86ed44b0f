/*
 * schema_check: JSON texts against a JSON Schema (draft 2020-12), as much of it as docs/schema
 * uses:
 *
 *   type const enum minimum maximum minItems maxItems minLength required properties
 *   additionalProperties items oneOf anyOf allOf $ref ("#/$defs/x", "file.json#/$defs/x") $defs
 *
 * usage: schema_check [--lines] [--closed] SCHEMA FILE
 *
 *   --lines    FILE holds one JSON text per line, else one altogether; FILE "-" is stdin
 *   --closed   a member that "properties" does not name is an error: what a program prints has to
 *              be in the schema. Readers use the schema without: fields may be added.
 *
 * A keyword that it does not know is an error, so that no part of a schema is passed over.
 * Exit: 0 valid, 1 not valid (path and reason on stdout), 2 cannot tell. No text at all is 2.
 */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 16
#define DEPTH_MAX 64

static struct {
    char name[256];
    json_t *root;
} files[FILES_MAX];

static bool closed;

/* Where a value stands, and the deepest complaint so far: of the branches of a oneOf, the one that
 * got furthest is the one that was meant. */
struct place {
    char path[512];
    int depth;
};
static char complaint[1024];
static int complaint_depth;

_Noreturn __attribute__((format(printf, 1, 2))) static void give_up(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("schema_check: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

__attribute__((format(printf, 2, 3))) static bool complain(const struct place *place,
                                                           const char *format, ...)
{
    va_list arguments;
    int length;

    if (complaint[0] != '\0' && place->depth <= complaint_depth)
        return false;
    complaint_depth = place->depth;
    length = snprintf(complaint, sizeof complaint, "%s: ", place->path[0] ? place->path : "/");
    va_start(arguments, format);
    vsnprintf(complaint + length, sizeof complaint - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

/* Index into files. */
static int load(const char *name)
{
    json_error_t error;

    for (int i = 0; i < FILES_MAX; i++) {
        if (files[i].root != NULL && strcmp(files[i].name, name) == 0)
            return i;
        if (files[i].root != NULL)
            continue;
        files[i].root = json_load_file(name, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
        if (files[i].root == NULL)
            give_up("%s:%d: %s", name, error.line, error.text);
        snprintf(files[i].name, sizeof files[i].name, "%s", name);
        return i;
    }
    give_up("more than %d schema files", FILES_MAX);
}

static json_t *resolve(const char *ref, int *file)
{
    const char *hash = strchr(ref, '#');
    size_t name_length = hash ? (size_t)(hash - ref) : strlen(ref);
    char name[512], step[128];

    if (name_length > 0) {
        const char *slash = strrchr(files[*file].name, '/');
        int folder = slash ? (int)(slash - files[*file].name) + 1 : 0;
        snprintf(name, sizeof name, "%.*s%.*s", folder, files[*file].name, (int)name_length, ref);
        *file = load(name);
    }
    json_t *at = files[*file].root;
    for (const char *from = hash ? hash + 1 : ""; *from == '/' && at;) {
        size_t length = strcspn(from + 1, "/");
        snprintf(step, sizeof step, "%.*s", (int)length, from + 1);
        at = json_object_get(at, step);
        from += 1 + length;
    }
    if (at == NULL)
        give_up("%s: \"$ref\": \"%s\" leads nowhere", files[*file].name, ref);
    return at;
}

static bool is_type(const json_t *value, const char *type)
{
    static const char *const TYPES[] = {"object", "array",   "string", "integer",
                                        "number", "boolean", "null"};
    bool known = false;

    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++)
        known = known || strcmp(type, TYPES[i]) == 0;
    if (!known)
        give_up("\"type\": \"%s\" is no type", type);
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return strcmp(type, "object") == 0;
    case JSON_ARRAY:
        return strcmp(type, "array") == 0;
    case JSON_STRING:
        return strcmp(type, "string") == 0;
    case JSON_INTEGER:
        return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
    case JSON_REAL:
        return strcmp(type, "number") == 0;
    case JSON_TRUE:
    case JSON_FALSE:
        return strcmp(type, "boolean") == 0;
    case JSON_NULL:
        return strcmp(type, "null") == 0;
    }
    return false;
}

static bool matches(const json_t *value, json_t *schema, int file, const struct place *place);

static struct place below(const struct place *place, const char *name)
{
    struct place inner = {.depth = place->depth + 1};

    snprintf(inner.path, sizeof inner.path, "%.400s/%.100s", place->path, name);
    return inner;
}

static bool matches_type(const json_t *value, const json_t *type, const struct place *place)
{
    char wanted[200] = "";

    if (json_is_string(type) && is_type(value, json_string_value(type)))
        return true;
    if (json_is_string(type))
        return complain(place, "is not of type %s", json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++) {
        const char *one = json_string_value(json_array_get(type, i));
        if (is_type(value, one))
            return true;
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), " %s", one);
    }
    return complain(place, "is of none of the types%s", wanted);
}

static bool matches_enum(const json_t *value, const json_t *choices, const struct place *place)
{
    for (size_t i = 0; i < json_array_size(choices); i++) {
        if (json_equal(value, json_array_get(choices, i)))
            return true;
    }
    return complain(place, "is none of the values of \"enum\"");
}

static bool matches_members(const json_t *value, json_t *schema, int file,
                            const struct place *place)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *additional = json_object_get(schema, "additionalProperties");
    const char *key;
    json_t *member;
    bool good = true;

    json_object_foreach ((json_t *)value, key, member) {
        json_t *named = json_object_get(properties, key);
        struct place inner = below(place, key);
        if (named != NULL)
            good = matches(member, named, file, &inner) && good;
        else if (json_is_false(additional) || (additional == NULL && properties && closed))
            good = complain(place, "has a member \"%s\" that is not in the schema", key);
        else if (json_is_object(additional))
            good = matches(member, additional, file, &inner) && good;
    }
    return good;
}

static bool has_required(const json_t *value, const json_t *required, const struct place *place)
{
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *key = json_string_value(json_array_get(required, i));
        if (json_object_get(value, key) == NULL)
            return complain(place, "lacks \"%s\"", key);
    }
    return true;
}

static bool matches_items(const json_t *value, json_t *items, int file, const struct place *place)
{
    bool good = true;

    for (size_t i = 0; i < json_array_size(value); i++) {
        char index[24];
        snprintf(index, sizeof index, "%zu", i);
        struct place inner = below(place, index);
        good = matches(json_array_get(value, i), items, file, &inner) && good;
    }
    return good;
}

/* The branch whose "type" is that of the value: what the others say of it is beside the point. */
static json_t *meant_branch(const json_t *value, json_t *branches, int *file)
{
    const json_t *type = json_object_get(value, "type");

    for (size_t i = 0; type && i < json_array_size(branches); i++) {
        json_t *branch = json_array_get(branches, i);
        const char *ref = json_string_value(json_object_get(branch, "$ref"));
        int its_file = *file;
        json_t *schema = ref ? resolve(ref, &its_file) : branch;
        json_t *named = json_object_get(json_object_get(schema, "properties"), "type");
        if (json_equal(json_object_get(named, "const"), type)) {
            *file = its_file;
            return schema;
        }
    }
    return NULL;
}

static bool matches_branches(const json_t *value, const char *keyword, json_t *branches, int file,
                             const struct place *place)
{
    size_t matched = 0, count = json_array_size(branches);
    char complaint_before[sizeof complaint];
    int depth_before = complaint_depth;
    bool all = strcmp(keyword, "allOf") == 0, any = strcmp(keyword, "anyOf") == 0;

    memcpy(complaint_before, complaint, sizeof complaint);
    for (size_t i = 0; i < count; i++)
        matched += matches(value, json_array_get(branches, i), file, place);
    if (all && matched < count)
        return complain(place, "does not match all of \"allOf\"");
    if (!all && !any && matched > 1)
        return complain(place, "matches %zu branches of \"oneOf\"", matched);
    bool good = all || matched > 0;
    json_t *meant = good ? NULL : meant_branch(value, branches, &file);
    if (good || meant) {
        memcpy(complaint, complaint_before, sizeof complaint);
        complaint_depth = depth_before;
    }
    return good || (meant && matches(value, meant, file, place)) ||
           complain(place, "matches no branch of \"%s\"", keyword);
}

/* One keyword of a schema. */
static bool keyword_holds(const json_t *value, const char *keyword, json_t *argument,
                          json_t *schema, int file, const struct place *place)
{
    static const char *const SILENT[] = {"$schema", "$id",         "$defs",   "$comment",
                                         "title",   "description", "examples"};

    for (size_t i = 0; i < sizeof SILENT / sizeof SILENT[0]; i++) {
        if (strcmp(keyword, SILENT[i]) == 0)
            return true;
    }
    if (strcmp(keyword, "$ref") == 0) {
        json_t *target = resolve(json_string_value(argument), &file);
        return matches(value, target, file, place);
    }
    if (strcmp(keyword, "type") == 0)
        return matches_type(value, argument, place);
    if (strcmp(keyword, "const") == 0)
        return json_equal(value, argument) || complain(place, "is not the value of \"const\"");
    if (strcmp(keyword, "enum") == 0)
        return matches_enum(value, argument, place);
    if (strcmp(keyword, "minimum") == 0)
        return !json_is_number(value) || json_number_value(value) >= json_number_value(argument) ||
               complain(place, "is below the minimum %g", json_number_value(argument));
    if (strcmp(keyword, "maximum") == 0)
        return !json_is_number(value) || json_number_value(value) <= json_number_value(argument) ||
               complain(place, "is above the maximum %g", json_number_value(argument));
    if (strcmp(keyword, "minLength") == 0)
        return !json_is_string(value) ||
               json_string_length(value) >= (size_t)json_integer_value(argument) ||
               complain(place, "is too short");
    if (strcmp(keyword, "minItems") == 0)
        return !json_is_array(value) ||
               json_array_size(value) >= (size_t)json_integer_value(argument) ||
               complain(place, "has too few items");
    if (strcmp(keyword, "maxItems") == 0)
        return !json_is_array(value) ||
               json_array_size(value) <= (size_t)json_integer_value(argument) ||
               complain(place, "has too many items");
    if (strcmp(keyword, "required") == 0)
        return !json_is_object(value) || has_required(value, argument, place);
    if (strcmp(keyword, "properties") == 0)
        return !json_is_object(value) || matches_members(value, schema, file, place);
    if (strcmp(keyword, "additionalProperties") == 0)
        return !json_is_object(value) || json_object_get(schema, "properties") != NULL ||
               matches_members(value, schema, file, place);
    if (strcmp(keyword, "items") == 0)
        return !json_is_array(value) || matches_items(value, argument, file, place);
    if (strcmp(keyword, "oneOf") == 0 || strcmp(keyword, "anyOf") == 0 ||
        strcmp(keyword, "allOf") == 0)
        return matches_branches(value, keyword, argument, file, place);
    give_up("%s: the keyword \"%s\" is not known here", files[file].name, keyword);
}

static bool matches(const json_t *value, json_t *schema, int file, const struct place *place)
{
    static int nesting;
    const char *keyword;
    json_t *argument;
    bool good = true;

    if (json_is_boolean(schema))
        return json_is_true(schema) || complain(place, "nothing is allowed here");
    if (!json_is_object(schema))
        give_up("%s: a schema that is neither an object nor true or false", files[file].name);
    if (++nesting > DEPTH_MAX)
        give_up("%s: a $ref that goes round in circles", files[file].name);
    json_object_foreach (schema, keyword, argument)
        good = keyword_holds(value, keyword, argument, schema, file, place) && good;
    nesting--;
    return good;
}

static bool check_text(const char *text, size_t length, int schema, const char *where)
{
    json_error_t error;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    struct place top = {.depth = 0};

    complaint[0] = '\0';
    if (value == NULL)
        printf("%s: not JSON: %s\n", where, error.text);
    else if (!matches(value, files[schema].root, schema, &top))
        printf("%s: %s\n", where, complaint);
    else {
        json_decref(value);
        return true;
    }
    json_decref(value);
    return false;
}

int main(int argc, char **argv)
{
    bool lines = false, good = true;
    int at = 1;

    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        lines = lines || strcmp(argv[at], "--lines") == 0;
        closed = closed || strcmp(argv[at], "--closed") == 0;
    }
    if (argc - at != 2)
        give_up("usage: schema_check [--lines] [--closed] SCHEMA FILE");
    int schema = load(argv[at]);
    FILE *in = strcmp(argv[at + 1], "-") == 0 ? stdin : fopen(argv[at + 1], "r");
    if (in == NULL)
        give_up("%s: %s", argv[at + 1], strerror(errno));

    char *text = NULL, where[300];
    size_t size = 0, count = 0;
    ssize_t length;
    /* Without --lines the delimiter is NUL, which JSON cannot hold: the whole file. */
    while ((length = getdelim(&text, &size, lines ? '\n' : '\0', in)) > 0) {
        snprintf(where, sizeof where, "%s:%zu", argv[at + 1], ++count);
        good = check_text(text, (size_t)length, schema, where) && good;
    }
    free(text);
    fclose(in);
    for (int i = 0; i < FILES_MAX; i++)
        json_decref(files[i].root);
    if (count == 0)
        give_up("%s: there is nothing to check", argv[at + 1]);
    return good ? 0 : 1;
}
