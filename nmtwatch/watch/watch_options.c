#include "nmtwatch/watch/watch_options.h"

#include "reports/text/units.h"

#include <stdio.h>

#define TIMEOUT_MAX_MS 600000
#define PERIOD_MIN_MS  1000

enum kind { DURATION, PERIOD, WARMUP, BUDGET, YES, NO, PRESSURE, OBSERVE, SECCOMP };

static const struct {
    enum kind kind;
    size_t offset;
} fields[] = {
#define WATCH_OPTION(key, kind, field, value, initial, soak, help)                                 \
    {kind, offsetof(struct watch_options, field)},
#include "nmtwatch/watch/watch_options.def"
#undef WATCH_OPTION
};

static const struct setting settings[2][WATCH_OPTION_COUNT] = {
    {
#define WATCH_OPTION(key, kind, field, value, initial, soak, help) {key, value, initial, help},
#include "nmtwatch/watch/watch_options.def"
#undef WATCH_OPTION
    },
    {
#define WATCH_OPTION(key, kind, field, value, initial, soak, help) {key, value, soak, help},
#include "nmtwatch/watch/watch_options.def"
#undef WATCH_OPTION
    },
};

const struct setting *watch_option_settings(bool soak)
{
    return settings[soak];
}

static void set_default(struct watch_options *options, bool soak)
{
    char ignored[160];
    memset(options, 0, sizeof *options);
    for (int i = 0; i < WATCH_OPTION_COUNT; i++)
        watch_option_take(options, (enum watch_option)i, settings[soak][i].initial, ignored,
                          sizeof ignored);
    thresholds_default(&options->thresholds);
}

void watch_options_default(struct watch_options *options)
{
    set_default(options, false);
}

void watch_options_default_soak(struct watch_options *options)
{
    set_default(options, true);
}

static bool take_duration(enum watch_option option, const char *text, int64_t *field,
                          char *expected, size_t size)
{
    char why[160];
    int64_t ms;
    if (!units_parse_duration(text, &ms, why, sizeof why) || ms <= 0)
        return text_error(expected, size, "a time above 0, such as 500ms, 10s, 5m or 2h");
    if (option == WATCH_OPTION_timeout_ms && ms > TIMEOUT_MAX_MS)
        ms = TIMEOUT_MAX_MS;
    *field = ms;
    return true;
}

static bool take_period(const char *text, int64_t *field, char *expected, size_t size)
{
    char why[160];
    int64_t ms;
    if (strcmp(text, "never") == 0) {
        *field = 0;
        return true;
    }
    if (!units_parse_duration(text, &ms, why, sizeof why) || ms < PERIOD_MIN_MS)
        return text_error(expected, size, "'never' or a time of at least %d s, such as 10m",
                          PERIOD_MIN_MS / 1000);
    *field = ms;
    return true;
}

static bool take_warmup(const char *text, int64_t *seconds, char *expected, size_t size)
{
    char why[160];
    int64_t ms;
    if (strcmp(text, "auto") == 0) {
        *seconds = -1;
        return true;
    }
    if (!units_parse_duration(text, &ms, why, sizeof why))
        return text_error(expected, size, "'auto' or a time such as 30s");
    *seconds = ms / 1000 + (ms % 1000 != 0);
    return true;
}

static bool take_budget(struct watch_options *options, const char *text, char *expected,
                        size_t size)
{
    int64_t pause_ms, span_ms;
    if (!units_parse_budget(text, &pause_ms, &span_ms, expected, size))
        return false;
    options->pause_budget_us = pause_ms * 1000;
    options->pause_window_ms = span_ms;
    return true;
}

static bool take_flag(const char *text, bool when_set, bool *field, char *expected, size_t size)
{
    bool yes = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "no") != 0 && strcmp(text, "false") != 0)
        return text_error(expected, size, "'yes' or 'no'");
    *field = yes == when_set;
    return true;
}

static bool take_either(const char *text, const char *no, const char *yes, bool *field,
                        char *expected, size_t size)
{
    if (strcmp(text, no) != 0 && strcmp(text, yes) != 0)
        return text_error(expected, size, "'%s' or '%s'", no, yes);
    *field = strcmp(text, yes) == 0;
    return true;
}

bool watch_option_take(struct watch_options *options, enum watch_option option, const char *text,
                       char *expected, size_t size)
{
    void *field = (char *)options + fields[option].offset;
    switch (fields[option].kind) {
    case DURATION:
        return take_duration(option, text, field, expected, size);
    case PERIOD:
        return take_period(text, field, expected, size);
    case WARMUP:
        return take_warmup(text, field, expected, size);
    case BUDGET:
        return take_budget(options, text, expected, size);
    case YES:
        return take_flag(text, true, field, expected, size);
    case NO:
        return take_flag(text, false, field, expected, size);
    case PRESSURE:
        return take_either(text, "wait", "ignore", field, expected, size);
    case OBSERVE:
        return take_either(text, "never", "auto", field, expected, size);
    case SECCOMP:
        return take_either(text, "skip", "ask", field, expected, size);
    }
    return false;
}

bool watch_options_has_key(const char *key)
{
    for (int i = 0; i < WATCH_OPTION_COUNT; i++) {
        if (strcmp(settings[0][i].key, key) == 0)
            return true;
    }
    return false;
}

bool watch_options_take_key(struct watch_options *options, const char *key, const char *text,
                            char *problem, size_t size)
{
    for (int i = 0; i < WATCH_OPTION_COUNT; i++) {
        char expected[160];
        if (strcmp(settings[0][i].key, key) != 0)
            continue;
        if (watch_option_take(options, (enum watch_option)i, text, expected, sizeof expected))
            return true;
        return text_error(problem, size, "%s: expected %s", key, expected);
    }
    return text_error(problem, size, "unknown key '%.60s' in [watch]", key);
}
