#include "agent/methods/symbol_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of the Itanium C++ ABI: _Z <name> <parameters>, name: 3foo, St3foo, N <part>... E. */
struct reading {
    const char *at;
    char *out;
    size_t size, length;
    const char *last; /* the part before, for constructors */
    size_t last_length;
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

/* Template arguments, from I to its E. Numbers within go before names, whose letters must not be
 * taken for anything. */
static bool skip_arguments(struct reading *reading)
{
    int depth = 0;
    do {
        char c = *reading->at;
        if (c == '\0')
            return false;
        if (isdigit((unsigned char)c)) {
            size_t length = 0;
            while (isdigit((unsigned char)*reading->at))
                length = length * 10 + (size_t)(*reading->at++ - '0');
            if (length > strlen(reading->at))
                return false;
            reading->at += length;
            continue;
        }
        if (c == 'L') { /* a literal: L <type> <value> E */
            const char *end = strchr(reading->at, 'E');
            if (end == NULL || reading->at[1] == '_' || isdigit((unsigned char)reading->at[1]))
                return false;
            reading->at = end + 1;
            continue;
        }
        if (c == 'S') { /* a substitution: S_ St Sa S1_ */
            const char *end = reading->at + 1;
            while (isdigit((unsigned char)*end) || (isupper((unsigned char)*end) && *end != 'E'))
                end++;
            if (*end == '\0')
                return false;
            reading->at = end + 1;
            continue;
        }
        depth += c == 'I' || c == 'N' || c == 'F' || c == 'J' || c == 'X';
        depth -= c == 'E';
        reading->at++;
    } while (depth > 0);
    return true;
}

static bool read_source_name(struct reading *reading)
{
    size_t length = 0;
    while (isdigit((unsigned char)*reading->at) && length < 4096)
        length = length * 10 + (size_t)(*reading->at++ - '0');
    if (length == 0 || length > strlen(reading->at))
        return false;
    reading->last = reading->at;
    reading->last_length = length;
    reading->at += length;
    if (length > 10 && strncmp(reading->last, "_GLOBAL__N", 10) == 0)
        return put_part(reading, "(anonymous)", 11);
    return put_part(reading, reading->last, length);
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
