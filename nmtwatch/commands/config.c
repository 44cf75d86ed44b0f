#include "nmtwatch/commands/options.h"

#include "reports/text/units.h"

#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stdlib.h>

struct loading {
    struct watch_options *options;
    struct serve_options *serve;
    char problem[256]; /* of the first bad line */
    config_error_fn *each;
    const char *path;
    FILE *file;
    int lines_left, errors;
};

#define CONFIG_LINES_MAX 10000 /* a device was named, or a log */

static bool parse_integer(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    *value = number;
    return errno == 0 && end != text && *end == '\0';
}

static bool take_threshold(struct loading *loading, const char *key, const char *text)
{
    enum threshold which = threshold_from_key(key);
    if (which == THRESHOLD_COUNT)
        return text_error(loading->problem, sizeof loading->problem, "unknown threshold '%.60s'",
                          key);
    const struct threshold_row *row = threshold_row(which);
    int64_t value;
    char why[128] = "not a whole number";
    bool good = strncmp(row->unit, "bytes", 5) == 0
                    ? units_parse_bytes(text, &value, why, sizeof why)
                    : parse_integer(text, &value);
    if (!good)
        return text_error(loading->problem, sizeof loading->problem, "%s: %s", row->key, why);
    if (value < row->min || value > row->max)
        return text_error(loading->problem, sizeof loading->problem,
                          "%s: %" PRId64 " is outside %" PRId64 " to %" PRId64 " (%s)", row->key,
                          value, row->min, row->max, row->unit);
    loading->options->thresholds.value[which] = value;
    return true;
}

static int take_value(struct loading *loading, const char *section, const char *key,
                      const char *text)
{
    if (strcmp(section, "thresholds") == 0)
        return take_threshold(loading, key, text);
    if (strcmp(section, "watch") == 0)
        return watch_options_take_key(loading->options, key, text, loading->problem,
                                      sizeof loading->problem);
    if (strcmp(section, "serve") == 0)
        return serve_options_take(loading->serve, key, text, loading->problem,
                                  sizeof loading->problem);
    if (strncmp(section, "receiver ", 9) == 0)
        return serve_options_take_receiver(loading->serve, section + 9, key, text, loading->problem,
                                           sizeof loading->problem);
    if (strncmp(section, "observe ", 8) == 0)
        return serve_options_take_section(loading->serve, section + 8, key, text, loading->problem,
                                          sizeof loading->problem);
    snprintf(loading->problem, sizeof loading->problem,
             "unknown section [%.60s] (there are [thresholds], [watch], [serve], [receiver NAME] "
             "and [observe NAME])",
             section);
    return 0;
}

static int take(void *context, const char *section, const char *key, const char *text)
{
    struct loading *loading = context;
    if (loading->each == NULL) /* the first error is the one that is reported */
        return loading->problem[0] != '\0' || take_value(loading, section, key, text);
    if (!take_value(loading, section, key, text)) {
        char sentence[512];
        snprintf(sentence, sizeof sentence, "%s:%d: %s", loading->path,
                 CONFIG_LINES_MAX - loading->lines_left, loading->problem);
        loading->each(sentence);
        loading->errors++;
    }
    loading->problem[0] = '\0';
    return 1;
}

/* Steps that are out of order would never fire, or fire at once. */
static const char *contradiction(const struct thresholds *thresholds)
{
    const int64_t *value = thresholds->value;
    if (value[TH_INTERNAL_INVESTIGATE_BYTES] >= value[TH_INTERNAL_EXPLOSION_BYTES] ||
        value[TH_INTERNAL_EXPLOSION_BYTES] >= value[TH_INTERNAL_UNACCEPTABLE_BYTES])
        return "internal_investigate_bytes < internal_explosion_bytes < "
               "internal_unacceptable_bytes "
               "does not hold";
    return NULL;
}

static char *next_line(char *into, int size, void *stream)
{
    struct loading *loading = stream;
    return --loading->lines_left >= 0 ? fgets(into, size, loading->file) : NULL;
}

/* A file serves all verbs: its [serve] has to be right for a watch, too. */
bool config_load(const char *path, struct watch_options *options, char *error, size_t error_size)
{
    struct serve_options *serve = malloc(sizeof *serve);
    if (serve == NULL)
        return text_error(error, error_size, "%s: out of memory", path);
    serve_options_default(serve);
    serve->watch = *options;
    bool good = config_load_serve(path, serve, NULL, error, error_size);
    *options = serve->watch;
    free(serve);
    return good;
}

bool config_load_serve(const char *path, struct serve_options *options, config_error_fn *each,
                       char *error, size_t error_size)
{
    struct loading loading = {
        .each = each,
        .path = path,
        .options = &options->watch,
        .serve = options,
        .file = fopen(path, "re"),
        .lines_left = CONFIG_LINES_MAX,
    };
    if (loading.file == NULL)
        return text_error(error, error_size, "%s: %s", path, strerror(errno));
    int line = ini_parse_stream(next_line, &loading, take, &loading);
    bool unreadable = ferror(loading.file) != 0;
    fclose(loading.file);
    if (unreadable || line < 0)
        return text_error(error, error_size, "%s: cannot be read", path);
    if (loading.lines_left < 0)
        return text_error(error, error_size, "%s: longer than %d lines", path, CONFIG_LINES_MAX);
    if (line > 0)
        return text_error(error, error_size, "%s:%d: %s", path, line,
                          loading.problem[0] != '\0' ? loading.problem
                                                     : "not 'key = value' or '[section]'");
    if (loading.errors > 0)
        return text_error(error, error_size, "%s", ""); /* said already */
    const char *wrong = contradiction(&options->watch.thresholds);
    if (wrong == NULL)
        wrong = serve_options_contradiction(options);
    if (wrong != NULL)
        snprintf(error, error_size, "%s: %s", path, wrong);
    return wrong == NULL;
}
