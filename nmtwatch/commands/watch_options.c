#include "nmtwatch/commands/watch_options.h"

#include "nmtwatch/commands/options.h"
#include "nmtwatch/commands/config.h"
#include "nmtwatch/jvm/discover.h"
#include "reports/text/units.h"
#include "nmtwatch/process/tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool watch_given_take(const struct watch_given *given, struct watch_options *options, char *error,
                      size_t error_size)
{
    for (int i = 0; i < WATCH_OPTION_COUNT; i++) {
        char expected[160], name[32];
        if (given->text[i] == NULL || watch_option_take(options, (enum watch_option)i,
                                                        given->text[i], expected, sizeof expected))
            continue;
        snprintf(name, sizeof name, "%s", watch_option_settings(false)[i].key);
        for (char *at = name; (at = strchr(at, '_')) != NULL;)
            *at = '-';
        snprintf(error, error_size, "--%s '%.80s': expected %s", name, given->text[i], expected);
        return false;
    }
    return true;
}

int watch_given_apply(const struct command *command, const struct watch_given *given,
                      const char *config, bool soak, struct watch_options *options)
{
    char error[512];
    (soak ? watch_options_default_soak : watch_options_default)(options);
    if (config != NULL && !config_load(config, options, error, sizeof error)) {
        tell_error("nmtwatch %s: %s\n", command->name, error);
        return EXIT_USAGE;
    }
    if (!watch_given_take(given, options, error, sizeof error))
        return options_error(command, "%s", error);
    return 0;
}

size_t watch_arguments_rows(struct watch_arguments *arguments, struct session_options *options,
                            struct option_row *rows, size_t used)
{
    const struct option_row own[] = {
        OPTION_FOR(&options->for_ms),
        OPTION_CONFIG_WATCH(&arguments->config),
        OPTION_NOTIFY(&options->notify),
        OPTION_FORCE(&options->record_force),
        OPTION_NO_COLOR(&arguments->no_color),
        {0, "json", NULL, NULL, &arguments->json, "one JSON object per line"},
    };
    used = options_settings(watch_option_settings(false), WATCH_OPTION_COUNT, arguments->given.text,
                            rows, used);
    memcpy(&rows[used], own, sizeof own);
    return used + OPTION_COUNT(own);
}

int watch_arguments_apply(const struct command *command, const struct watch_arguments *arguments,
                          struct session_options *options)
{
    options->colour = options_colour(arguments->no_color);
    return watch_given_apply(command, &arguments->given, arguments->config, false, &options->watch);
}

static int open_all(const struct command *command, struct session_options *options)
{
    struct discovery discovery;
    int code = target_option_proc(command);
    if (code != 0)
        return code;
    if (discover_jvms(&discovery) != 0) {
        tell_error("nmtwatch %s: /proc cannot be read: %s\n", command->name, strerror(errno));
        return EXIT_IO;
    }
    options->target_count = discovery.count;
    options->targets = discovery.targets; /* kept: the process ends with the session */
    return 0;
}

static int open_targets(const struct command *command, char **operands, int count,
                        struct session_options *options)
{
    if (options->all && count > 0)
        return options_error(command, "--all and process ids exclude each other");
    if (options->all)
        return open_all(command, options);
    if (count == 0)
        return options_error(command,
                             "the process id of a JVM is missing (nmtwatch list shows them)");
    options->targets = calloc((size_t)count, sizeof *options->targets);
    if (options->targets == NULL)
        return EXIT_IO;
    for (int i = 0; i < count; i++) {
        int code = target_option_open(command, operands[i], &options->targets[i]);
        if (code != 0) {
            free(options->targets);
            options->targets = NULL;
            options->target_count = 0;
            return code;
        }
        options->target_count++;
    }
    return 0;
}

int watch_options_run(const struct command *command, const struct watch_arguments *arguments,
                      char **operands, int count, struct session_options *options)
{
    int code = open_targets(command, operands, count, options);
    if (code != 0)
        return code;
    options->output = arguments->json ? SESSION_JSON
                      : isatty(1)     ? SESSION_TABLE
                                      : arguments->into_pipe;
    code = session_run(options);
    free(options->targets);
    return code;
}
