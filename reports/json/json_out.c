#include "reports/json/json_out.h"

#include "analyzers/model/texts.h"
#include "reports/text/escape.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct json_out *out, size_t more)
{
    if (out->failed)
        return false;
    out->failed = !array_room(&out->text, &out->capacity, out->length + more, 1);
    return !out->failed;
}

static void append(struct json_out *out, const char *text, size_t length)
{
    if (reserve(out, length)) {
        memcpy(out->text + out->length, text, length);
        out->length += length;
    }
}

static void append_string(struct json_out *out, const char *text)
{
    size_t most = strlen(text) * ESCAPE_GROWTH + 1;
    append(out, "\"", 1);
    if (reserve(out, most))
        out->length += escape(ESCAPE_JSON, text, out->text + out->length, most);
    append(out, "\"", 1);
}

/* What stands before any value: the comma and the key. */
static void lead(struct json_out *out, const char *key)
{
    if (out->comma)
        append(out, ",", 1);
    if (key != NULL) {
        append_string(out, key);
        append(out, ":", 1);
    }
    out->comma = true;
}

static void bare(struct json_out *out, const char *key, const char *value)
{
    lead(out, key);
    append(out, value, strlen(value));
}

void json_out_begin(struct json_out *out, const char *key, char bracket)
{
    lead(out, key);
    append(out, &bracket, 1);
    out->comma = false;
}

void json_out_end(struct json_out *out, char bracket)
{
    append(out, &bracket, 1);
    out->comma = true;
}

void json_out_int(struct json_out *out, const char *key, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    bare(out, key, digits);
}

void json_out_real(struct json_out *out, const char *key, double value)
{
    char digits[32];
    if (!isfinite(value) || fabs(value) > 9e15) {
        json_out_null(out, key);
        return;
    }
    /* Hundredths as an integer: printf's decimal point depends on the locale. */
    int64_t hundredths = llround(value * 100);
    int64_t size = hundredths < 0 ? -hundredths : hundredths;
    snprintf(digits, sizeof digits, "%s%" PRId64 ".%02" PRId64, hundredths < 0 ? "-" : "",
             size / 100, size % 100);
    bare(out, key, digits);
}

void json_out_bool(struct json_out *out, const char *key, bool value)
{
    bare(out, key, value ? "true" : "false");
}

void json_out_text(struct json_out *out, const char *key, const char *value)
{
    if (value == NULL) {
        json_out_null(out, key);
        return;
    }
    lead(out, key);
    append_string(out, value);
}

void json_out_field(struct json_out *out, const char *key, const char *field, size_t size)
{
    char valid[1024];
    escape(ESCAPE_UTF8, field, valid, size < sizeof valid ? size : sizeof valid);
    json_out_text(out, key, valid);
}

void json_out_number(struct json_out *out, const char *key, const char *digits)
{
    bare(out, key, digits);
}

void json_out_null(struct json_out *out, const char *key)
{
    bare(out, key, "null");
}

void json_out_int_if(struct json_out *out, const char *key, bool known, int64_t value)
{
    if (known)
        json_out_int(out, key, value);
    else
        json_out_null(out, key);
}

void json_out_real_if(struct json_out *out, const char *key, bool known, double value)
{
    json_out_real(out, key, known ? value : NAN);
}

void json_out_text_if(struct json_out *out, const char *key, const char *value)
{
    json_out_text(out, key, value[0] != '\0' ? value : NULL);
}

void json_out_open(struct json_out *out)
{
    json_out_reset(out);
    json_out_begin(out, NULL, '{');
}

const char *json_out_close(struct json_out *out)
{
    size_t length;
    json_out_end(out, '}');
    return json_out_line(out, &length);
}

const char *json_out_line(struct json_out *out, size_t *length)
{
    append(out, "\n", 1);
    if (!reserve(out, 1)) {
        *length = 0;
        return NULL;
    }
    out->text[out->length] = '\0';
    *length = out->length;
    return out->text;
}

bool json_out_print(struct json_out *out, FILE *to)
{
    size_t length = 0;
    const char *line = json_out_line(out, &length);
    bool good = line != NULL && fwrite(line, 1, length, to) == length;
    json_out_free(out);
    return good;
}

void json_out_reset(struct json_out *out)
{
    out->length = 0;
    out->comma = false;
    out->failed = false;
}

void json_out_free(struct json_out *out)
{
    free(out->text);
    *out = (struct json_out){0};
}
