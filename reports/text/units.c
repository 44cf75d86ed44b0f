#include "reports/text/units.h"

#include "analyzers/model/texts.h"
#include "reports/text/escape.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static bool refuse(const char *text, const char *expected, char *error, size_t error_size)
{
    return text_error(error, error_size, "'%s' is not %s", escape_name(text).text, expected);
}

static bool take_digits(const char **at, int64_t *number)
{
    if (!isdigit((unsigned char)**at))
        return false;
    for (*number = 0; isdigit((unsigned char)**at); (*at)++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, **at - '0', number))
            return false;
    return true;
}

bool units_parse_bytes(const char *text, int64_t *bytes, char *error, size_t error_size)
{
    static const char expected[] = "a size: a whole number with K, M, G or T, such as 64M";
    static const char letters[] = "KMGT";
    const char *at = text;
    int64_t number;
    if (!take_digits(&at, &number))
        return refuse(text, expected, error, error_size);
    const char *letter = *at ? strchr(letters, toupper((unsigned char)*at)) : NULL;
    int64_t unit = letter ? INT64_C(1) << (10 * (letter - letters + 1)) : 1;
    at += letter != NULL;
    if (strcasecmp(at, "b") == 0)
        at++;
    if (*at || __builtin_mul_overflow(number, unit, &number))
        return refuse(text, expected, error, error_size);
    *bytes = number;
    return true;
}

/* "1.5s", of a unit smaller than the last one: adds to *ms. */
static bool take_time(const char **at, int64_t *unit_ms, int64_t *ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000},
    };
    int64_t whole, thousandths = 0;
    if (!take_digits(at, &whole))
        return false;
    if (**at == '.') {
        int64_t weight = 100;
        for (++*at; isdigit((unsigned char)**at) && weight > 0; ++*at, weight /= 10)
            thousandths += (**at - '0') * weight;
        if ((*at)[-1] == '.')
            return false;
    }
    size_t length = 0;
    while (isalpha((unsigned char)(*at)[length]))
        length++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        int64_t unit = units[i].ms, result;
        if (strlen(units[i].name) != length || strncmp(*at, units[i].name, length) != 0)
            continue;
        *at += length;
        bool good = unit < *unit_ms && thousandths * unit % 1000 == 0 &&
                    !__builtin_mul_overflow(whole, unit, &result) &&
                    !__builtin_add_overflow(result, thousandths * unit / 1000, &result) &&
                    !__builtin_add_overflow(*ms, result, ms);
        *unit_ms = unit;
        return good;
    }
    return false;
}

bool units_parse_duration(const char *text, int64_t *ms, char *error, size_t error_size)
{
    static const char expected[] =
        "a duration: numbers with ms, s, m (or min), h or d, such as 500ms, 10m or 5m40s";
    int64_t sum_ms = 0, unit_ms = INT64_MAX;
    const char *at = text;
    bool good = strcmp(text, "0") == 0;
    while (!good && take_time(&at, &unit_ms, &sum_ms))
        good = *at == '\0';
    if (!good)
        return refuse(text, expected, error, error_size);
    *ms = sum_ms;
    return true;
}

bool units_parse_budget(const char *text, int64_t *pause_ms, int64_t *span_ms, char *error,
                        size_t error_size)
{
    static const char expected[] =
        "a pause budget: a pause and the span it may be spent in, such as 200ms/10min";
    char pause_text[32], ignored[1];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : 0;
    int64_t pause, span;
    if (!slash || length >= sizeof pause_text)
        return refuse(text, expected, error, error_size);
    memcpy(pause_text, text, length);
    pause_text[length] = '\0';
    if (!units_parse_duration(pause_text, &pause, ignored, sizeof ignored) ||
        !units_parse_duration(slash + 1, &span, ignored, sizeof ignored) || pause < 0 ||
        span <= 0 || pause > span)
        return refuse(text, expected, error, error_size);
    *pause_ms = pause;
    *span_ms = span;
    return true;
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format is the caller's literal */
struct units_text units_utc(int64_t unix_ms, const char *format)
{
    time_t seconds = (time_t)(unix_ms / 1000), epoch = 0;
    struct tm utc;
    struct units_text out;
    if (gmtime_r(&seconds, &utc) == NULL)
        gmtime_r(&epoch, &utc);
    if (strftime(out.text, sizeof out.text, format, &utc) == 0)
        out.text[0] = '\0';
    return out;
}
