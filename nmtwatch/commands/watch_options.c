#include "nmtwatch/commands/watch_options.h"

#include "nmtwatch/commands/target_option.h"
#include "nmtwatch/config.h"
#include "nmtwatch/jvm/discover.h"
#include "reports/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MAX_MS 600000

static int apply_text_options(const struct command *command,
                              const struct watch_arguments *arguments, struct watch_options *watch)
{
    char why[160];
    int64_t pause_ms, span_ms, warmup_ms;
    if (arguments->pause_budget != NULL) {
        if (!units_parse_budget(arguments->pause_budget, &pause_ms, &span_ms, why, sizeof why))
            return options_error(command, "--pause-budget: %s", why);
        watch->pause_budget_us = pause_ms * 1000;
        watch->pause_window_ms = span_ms;
    }
    if (arguments->warmup != NULL && strcmp(arguments->warmup, "auto") == 0) {
        watch->warmup_s = -1;
    } else if (arguments->warmup != NULL) {
        if (!units_parse_duration(arguments->warmup, &warmup_ms, why, sizeof why))
            return options_error(command, "--warmup: %s", why);
        watch->warmup_s = (warmup_ms + 999) / 1000;
    }
    return 0;
}

static int apply_durations(const struct command *command, const struct watch_arguments *arguments,
                           struct session_options *options)
{
    int64_t timeout_ms = options->watch.timeout_ms;
    const struct {
        const char *name;
        int64_t given_ms;
        int64_t *into_ms;
    } durations[] = {
        {"interval", arguments->interval_ms, &options->watch.interval_ms},
        {"nmt-interval", arguments->nmt_interval_ms, &options->watch.nmt_interval_ms},
        {"loaders-interval", arguments->loaders_interval_ms, &options->watch.loaders_interval_ms},
        {"for", arguments->for_ms, &options->for_ms},
        {"timeout", arguments->timeout_ms, &timeout_ms},
    };
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        if (durations[i].given_ms == 0)
            return options_error(command, "--%s: a time above 0 is needed", durations[i].name);
        if (durations[i].given_ms > 0)
            *durations[i].into_ms = durations[i].given_ms;
    }
    options->watch.timeout_ms = (int)(timeout_ms < TIMEOUT_MAX_MS ? timeout_ms : TIMEOUT_MAX_MS);
    return 0;
}

int watch_options_apply(const struct command *command, const struct watch_arguments *arguments,
                        struct session_options *options)
{
    struct watch_options *watch = &options->watch;
    watch_options_default(watch);
    if (arguments->config != NULL) {
        char error[512];
        if (!config_load(arguments->config, watch, error, sizeof error)) {
            fprintf(stderr, "nmtwatch %s: %s\n", command->name, error);
            return EXIT_USAGE;
        }
    }
    int code = apply_durations(command, arguments, options);
    if (code != 0)
        return code;
    watch->tap = !arguments->no_tap;
    watch->allow_full_gc = arguments->allow_full_gc;
    options->notify = arguments->notify;
    options->record_force = arguments->force;
    options->colour = options_colour(arguments->no_color);
    return apply_text_options(command, arguments, watch);
}

static int open_all(const struct command *command, struct session_options *options)
{
    struct discovery discovery;
    int code = target_option_proc(command);
    if (code != 0)
        return code;
    if (discover_jvms(&discovery) != 0) {
        fprintf(stderr, "nmtwatch %s: /proc cannot be read: %s\n", command->name, strerror(errno));
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
                      enum session_output into_pipe, char **operands, int count,
                      struct session_options *options)
{
    int code = open_targets(command, operands, count, options);
    if (code != 0)
        return code;
    options->output = arguments->json ? SESSION_JSON : isatty(1) ? SESSION_TABLE : into_pipe;
    code = session_run(options);
    free(options->targets);
    return code;
}
