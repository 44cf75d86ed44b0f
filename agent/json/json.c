#include "agent/json/json.h"

#include "floor/jfr/jfr_bytes.h"

#include <inttypes.h>

static void put_text(FILE *out, const char *text)
{
    size_t length = 1;
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c += length) {
        int32_t code = jfr_text_character(c, &length);
        if (code <= 0) /* none, or a NUL, which readers refuse */
            fputs("\\ufffd", out);
        else if (code >= 0x10000)
            fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
        else if (*c == '"' || *c == '\\' || *c < 0x20 || *c == 0x7f)
            fprintf(out, "\\u%04x", *c);
        else
            fwrite(c, 1, length, out);
    }
    fputc('"', out);
}

/* What stands before a value. */
static FILE *next(struct json *json, const char *name)
{
    if (json->comma)
        fputc(',', json->out);
    json->comma = true;
    if (name != NULL) {
        put_text(json->out, name);
        fputc(':', json->out);
    }
    return json->out;
}

void json_begin(struct json *json, const char *name, char bracket)
{
    fputc(bracket, next(json, name));
    json->comma = false;
}

void json_end(struct json *json, char bracket)
{
    fputc(bracket, json->out);
    json->comma = true;
}

void json_int(struct json *json, const char *name, int64_t value)
{
    fprintf(next(json, name), "%" PRId64, value);
}

void json_double(struct json *json, const char *name, double value)
{
    fprintf(next(json, name), "%.0f", value);
}

void json_bool(struct json *json, const char *name, bool value)
{
    fputs(value ? "true" : "false", next(json, name));
}

void json_text(struct json *json, const char *name, const char *text)
{
    put_text(next(json, name), text);
}

void json_null(struct json *json, const char *name)
{
    fputs("null", next(json, name));
}

void json_int_if(struct json *json, const char *name, int64_t value, bool known)
{
    if (known)
        json_int(json, name, value);
    else
        json_null(json, name);
}

void json_text_or_null(struct json *json, const char *name, const char *text)
{
    if (text[0] != '\0')
        json_text(json, name, text);
    else
        json_null(json, name);
}

void json_ints(struct json *json, const struct json_field *fields, size_t count, const void *from)
{
    for (size_t i = 0; i < count; i++)
        json_int(json, fields[i].name, *(const int64_t *)((const char *)from + fields[i].offset));
}
