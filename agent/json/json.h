/*
 * json: the one way in which the agent writes JSON, member by member. Commas are put here.
 *
 *   json_begin(json, NULL, '{'); json_int(json, "samples", 7); json_end(json, '}');
 *
 * name: of a member of an object; NULL for an element of an array and for the whole. Texts are the
 * JVM's (modified UTF-8): they come out as UTF-8, what is no character as U+FFFD. Writing is
 * unchecked: the stream's owner knows (control/answer.h). Commands' thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    bool comma; /* before what comes next */
};

void json_begin(struct json *json, const char *name, char bracket); /* '{' or '[' */
void json_end(struct json *json, char bracket);                     /* '}' or ']' */
void json_int(struct json *json, const char *name, int64_t value);
/* Members by a table: numbers (int64_t) of a struct. */
struct json_field {
    const char *name;
    size_t offset;
};
#define JSON_FIELD(type, member)                                                                   \
    {                                                                                              \
#member, offsetof(type, member)                                                            \
    }
#define JSON_COUNT(fields) (sizeof(fields) / sizeof *(fields))
void json_ints(struct json *json, const struct json_field *fields, size_t count, const void *from);
/* Without decimals. */
void json_double(struct json *json, const char *name, double value);
void json_bool(struct json *json, const char *name, bool value);
void json_text(struct json *json, const char *name, const char *text);
void json_null(struct json *json, const char *name);
/* Null where it is not known. */
void json_int_if(struct json *json, const char *name, int64_t value, bool known);
/* Null where it is empty. */
void json_text_or_null(struct json *json, const char *name, const char *text);
