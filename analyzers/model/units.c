#include "analyzers/model/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static uint64_t magnitude(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

/* number/unit with one decimal, and none when it comes out even. */
static struct units_text scaled(uint64_t number, uint64_t unit, const char *sign, const char *name)
{
    uint64_t whole = number / unit;
    uint64_t tenths = (number % unit * 10 + unit / 2) / unit;
    struct units_text out;
    if (number % unit == 0) {
        snprintf(out.text, sizeof out.text, "%s%llu %s", sign, (unsigned long long)whole, name);
        return out;
    }
    if (tenths == 10) {
        whole++;
        tenths = 0;
    }
    snprintf(out.text, sizeof out.text, "%s%llu.%llu %s", sign, (unsigned long long)whole,
             (unsigned long long)tenths, name);
    return out;
}

static struct units_text bytes_with_sign(int64_t bytes, const char *sign)
{
    static const char *const names[] = {"KB", "MB", "GB", "TB"};
    uint64_t number = magnitude(bytes);
    struct units_text out;
    if (number < 1024) {
        snprintf(out.text, sizeof out.text, "%s%llu B", sign, (unsigned long long)number);
        return out;
    }
    /* 1023.95 and more would read "1024.0": that is one of the next unit. */
    int which = 0;
    uint64_t unit = 1024;
    while (which < 3 && number >= unit * 1024 - unit / 20) {
        which++;
        unit *= 1024;
    }
    return scaled(number, unit, sign, names[which]);
}

struct units_text units_bytes(int64_t bytes)
{
    return bytes_with_sign(bytes, bytes < 0 ? "-" : "");
}

struct units_text units_short_bytes(int64_t bytes)
{
    static const char units[] = "KMGT";
    double size = (double)magnitude(bytes);
    const char *sign = bytes < 0 ? "-" : "";
    struct units_text out;
    int which = -1;
    /* 1023.5 and more would read "1024". */
    while (which < 3 && size >= 1023.5) {
        which++;
        size /= 1024;
    }
    if (which < 0)
        snprintf(out.text, sizeof out.text, "%s%.0fB", sign, size);
    else
        snprintf(out.text, sizeof out.text, size < 9.95 ? "%s%.1f%c" : "%s%.0f%c", sign, size,
                 units[which]);
    return out;
}

struct units_text units_growth(int64_t bytes)
{
    return bytes_with_sign(bytes, bytes < 0 ? "-" : bytes > 0 ? "+" : "");
}

struct units_text units_rate(double per_s)
{
    struct units_text out;
    if (!isfinite(per_s)) {
        snprintf(out.text, sizeof out.text, "-");
        return out;
    }
    double size = fabs(per_s);
    int decimals = size == 0 || size >= 1000 ? 0 : size >= 0.995 ? 1 : 2;
    snprintf(out.text, sizeof out.text, "%.*f/s", decimals,
             size > 1e15 ? copysign(1e15, per_s) : per_s);
    return out;
}

struct units_text units_count(int64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)magnitude(count));
    struct units_text out;
    char *at = out.text;
    if (count < 0)
        *at++ = '-';
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *at++ = ' ';
        *at++ = digits[i];
    }
    *at = '\0';
    return out;
}

struct units_text units_duration(int64_t ms)
{
    /* From a minute on two neighbouring units are shown, the smaller one only when it is not 0. */
    static const struct {
        uint64_t unit_ms;
        const char *unit;
        uint64_t part_ms;
        const char *part;
        int part_digits;
    } steps[] = {
        {86400000, "d", 3600000, "h", 1},
        {3600000, "h", 60000, "min", 2},
        {60000, "min", 1000, "s", 2},
    };
    const char *sign = ms < 0 ? "-" : "";
    uint64_t size = magnitude(ms);
    struct units_text out;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (size < steps[i].unit_ms)
            continue;
        unsigned long long whole = size / steps[i].unit_ms;
        unsigned long long part = size % steps[i].unit_ms / steps[i].part_ms;
        int length = snprintf(out.text, sizeof out.text, "%s%llu %s", sign, whole, steps[i].unit);
        if (part > 0) {
            snprintf(out.text + length, sizeof out.text - (size_t)length, " %0*llu %s",
                     steps[i].part_digits, part, steps[i].part);
        }
        return out;
    }
    if (size >= 1000)
        return scaled(size / 100 * 100, 1000, sign, "s");
    snprintf(out.text, sizeof out.text, "%s%llu ms", sign, (unsigned long long)size);
    return out;
}

struct units_text units_microseconds(int64_t us)
{
    const char *sign = us < 0 ? "-" : "";
    uint64_t size = magnitude(us);
    if (size < 1000) {
        struct units_text out;
        snprintf(out.text, sizeof out.text, "%s%llu us", sign, (unsigned long long)size);
        return out;
    }
    if (size < 999950)
        return scaled(size, 1000, sign, "ms");
    if (size < 60000000)
        return scaled(size, 1000000, sign, "s");
    return units_duration(us / 1000);
}

struct units_text units_clock(int64_t ms)
{
    uint64_t seconds = magnitude(ms) / 1000;
    struct units_text out;
    snprintf(out.text, sizeof out.text, "%s%llu:%02llu:%02llu", ms < 0 ? "-" : "",
             (unsigned long long)(seconds / 3600), (unsigned long long)(seconds / 60 % 60),
             (unsigned long long)(seconds % 60));
    return out;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), ending_length = strlen(ending);
    return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

static struct units_text with_suffix(struct units_text text, const char *suffix)
{
    size_t length = strlen(text.text);
    snprintf(text.text + length, sizeof text.text - length, "%s", suffix);
    return text;
}

struct units_text units_figure(const char *key, int64_t number)
{
    bool growth = strstr(key, "growth") != NULL;
    if (ends_with(key, "bytes_per_h"))
        return with_suffix(units_growth(number), "/h");
    if (ends_with(key, "bytes") || strstr(key, "bytes_per_") != NULL)
        return growth ? units_growth(number) : units_bytes(number);
    if (ends_with(key, "_per_s"))
        return with_suffix(units_count(number), "/s");
    if (ends_with(key, "percent"))
        return with_suffix(units_count(number), " %");
    if (ends_with(key, "_ms"))
        return units_duration(number);
    if (ends_with(key, "_us"))
        return units_microseconds(number);
    if (ends_with(key, "_s") && number < INT64_MAX / 1000 && number > INT64_MIN / 1000)
        return units_duration(number * 1000);
    struct units_text text = units_count(number);
    if (ends_with(key, "pid")) /* to be pasted */
        snprintf(text.text, sizeof text.text, "%lld", (long long)number);
    return text;
}

struct units_text units_real_figure(const char *key, double number)
{
    struct units_text out = units_rate(number); /* which brings its "/s" */
    size_t length = strlen(out.text);
    if (isfinite(number) && !ends_with(key, "_per_s"))
        snprintf(out.text + length - 2, 3, "%s", ends_with(key, "percent") ? " %" : "");
    return out;
}
