/* Any context. */
#include "floor/hotspot/symbol_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NESTED_MAX 64

/* Of the Itanium C++ ABI: _Z <name> <parameters>, name: 3foo, St3foo, N <part>... E. */
struct reading {
    const char *at;
    char *out;
    size_t size, length;
    const char *last; /* the part before, for constructors */
    size_t last_length;
    int nested; /* depth of template arguments */
};

static bool put(struct reading *reading, const char *text, size_t length)
{
    if (length >= reading->size - reading->length)
        return false;
    memcpy(reading->out + reading->length, text, length);
    reading->length += length;
    reading->out[reading->length] = '\0';
    return true;
}

static bool put_part(struct reading *reading, const char *text, size_t length)
{
    return (reading->length == 0 || put(reading, "::", 2)) && put(reading, text, length);
}

/* 3foo: its length, and then the name. */
static bool take_source_name(struct reading *reading, const char **name, size_t *length)
{
    *length = 0;
    while (isdigit((unsigned char)*reading->at) && *length < 4096)
        *length = *length * 10 + (size_t)(*reading->at++ - '0');
    *name = reading->at;
    if (*length == 0 || *length > strlen(reading->at))
        return false;
    reading->at += *length;
    return true;
}

/* S_ S1A_ St Sa. */
static bool skip_substitution(struct reading *reading)
{
    reading->at++;
    if (islower((unsigned char)*reading->at)) {
        reading->at++;
        return true;
    }
    while (isdigit((unsigned char)*reading->at) || isupper((unsigned char)*reading->at))
        reading->at++;
    return *reading->at++ == '_';
}

static bool skip_arguments(struct reading *reading);

/* One thing within template arguments: a literal's type or value, a name, a letter of a type. */
static bool skip_one(struct reading *reading)
{
    const char *name;
    size_t length;
    char c = *reading->at;
    if (isdigit((unsigned char)c))
        return take_source_name(reading, &name, &length);
    if (c == 'S')
        return skip_substitution(reading);
    if (c == 'I' || c == 'N' || c == 'F' || c == 'J')
        return skip_arguments(reading);
    if (c == 'L') { /* literal: type, value, E */
        reading->at++;
        if (*reading->at == 'L' || !skip_one(reading))
            return false;
        while (isdigit((unsigned char)*reading->at) || *reading->at == 'n')
            reading->at++;
        return *reading->at++ == 'E';
    }
    if (c == '\0' || c == 'X' || c == 'E')
        return false; /* an expression, or damage */
    reading->at++;
    return true;
}

/* What goes from a letter to its E: template arguments, nested names, function types. */
static bool skip_arguments(struct reading *reading)
{
    if (reading->nested++ > NESTED_MAX)
        return false;
    reading->at++;
    while (*reading->at != 'E')
        if (!skip_one(reading))
            return false;
    reading->at++;
    reading->nested--;
    return true;
}

static bool read_source_name(struct reading *reading)
{
    if (!take_source_name(reading, &reading->last, &reading->last_length))
        return false;
    if (reading->last_length > 10 && strncmp(reading->last, "_GLOBAL__N", 10) == 0)
        return put_part(reading, "(anonymous)", 11);
    return put_part(reading, reading->last, reading->last_length);
}

static bool read_part(struct reading *reading)
{
    const char *at = reading->at;
    if (isdigit((unsigned char)at[0]))
        return read_source_name(reading);
    if (at[0] == 'L' && isdigit((unsigned char)at[1])) { /* local to its file */
        reading->at++;
        return read_source_name(reading);
    }
    if (at[0] == 'S' && at[1] == 't') {
        reading->at += 2;
        return put_part(reading, "std", 3);
    }
    if (at[0] == 'I')
        return skip_arguments(reading);
    if ((at[0] == 'C' || at[0] == 'D') && at[1] >= '0' && at[1] <= '5' && reading->last != NULL) {
        reading->at += 2;
        return put(reading, at[0] == 'C' ? "::" : "::~", at[0] == 'C' ? 2 : 3) &&
               put(reading, reading->last, reading->last_length);
    }
    return false;
}

static bool read_name(struct reading *reading)
{
    if (strncmp(reading->at, "_Z", 2) != 0)
        return false;
    reading->at += 2;
    if (*reading->at != 'N') {
        if (strncmp(reading->at, "St", 2) == 0 && !read_part(reading))
            return false;
        return read_part(reading);
    }
    reading->at++;
    while (*reading->at == 'K' || *reading->at == 'V' || *reading->at == 'r' ||
           *reading->at == 'R' || *reading->at == 'O')
        reading->at++;
    while (*reading->at != 'E')
        if (!read_part(reading))
            return false;
    return reading->last != NULL;
}

void symbol_name(const char *symbol, char *out, size_t size)
{
    struct reading reading = {.at = symbol, .out = out, .size = size};
    if (size == 0)
        return;
    out[0] = '\0';
    if (!read_name(&reading))
        snprintf(out, size, "%s", symbol);
}
