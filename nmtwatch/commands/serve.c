/* nmtwatch serve: a daemon that watches every JVM of the host. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/commands/target_option.h"
#include "nmtwatch/config.h"
#include "nmtwatch/serve/serve.h"

#include <stdio.h>

struct arguments {
    const char *config, *listen, *recordings, *state, *user_file, *notify, *target;
    int64_t for_ms;
    int64_t interval_ms;
};

/* The file first, then the command line. */
static bool configure(void *context, struct serve_options *options, char *error, size_t error_size)
{
    const struct arguments *arguments = context;
    const struct {
        const char *key;
        const char *given;
    } rows[] = {
        {"listen", arguments->listen}, {"recordings", arguments->recordings},
        {"state", arguments->state},   {"user_file", arguments->user_file},
        {"notify", arguments->notify}, {"target", arguments->target},
    };
    serve_options_default(options);
    if (arguments->config != NULL &&
        !config_load_serve(arguments->config, options, error, error_size))
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].given != NULL &&
            !serve_options_take(options, rows[i].key, rows[i].given, error, error_size))
            return false;
    }
    if (arguments->interval_ms > 0)
        options->watch.interval_ms = arguments->interval_ms;
    return true;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct option_row rows[] = {
        {0, "config", "FILE", option_take_text, &arguments.config,
         "INI file with [serve], [watch] and [thresholds]; SIGHUP reads it again"},
        {0, "listen", "ADDR:PORT", option_take_text, &arguments.listen,
         "where to answer (127.0.0.1:9779)"},
        {0, "target", "TEMPLATE", option_take_text, &arguments.target,
         "what a JVM is called (%{main})"},
        {0, "recordings", "DIR", option_take_text, &arguments.recordings,
         "record every target into this folder, within bounds"},
        {0, "state", "DIR", option_take_text, &arguments.state,
         "what a restart has to know: no alert is lost or repeated"},
        {0, "user-file", "FILE", option_take_text, &arguments.user_file,
         "basic authentication: lines user:password"},
        {0, "notify", "CMD", option_take_text, &arguments.notify,
         "run for each alert, JSON on its standard input"},
        {0, "interval", "TIME", option_take_duration_ms, &arguments.interval_ms,
         "between looks at what is free (1s)"},
        {0, "for", "TIME", option_take_duration_ms, &arguments.for_ms,
         "stop after this (until interrupted)"},
    };
    int operands, code;
    if (!options_parse(&command_serve, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands > 0)
        return options_error(&command_serve, "unexpected operand '%s'", argv[1]);
    code = target_option_proc(&command_serve);
    return code != 0 ? code : serve_run(configure, &arguments, arguments.for_ms);
}

const struct command command_serve = {
    .name = "serve",
    .summary = "a daemon for all JVMs of a host: Prometheus metrics, a page, alerts",
    .usage =
        "Usage: nmtwatch serve [--config FILE] [--listen ADDR:PORT] [options]\n"
        "\n"
        "Watches every JVM of this host as they come and go, as `watch` does: free sources each\n"
        "second, NMT every few, what stops the application only within the pause budget. Answers\n"
        "HTTP from its last picture; a scrape never touches a JVM:\n"
        "\n"
        "  /metrics            for Prometheus (OpenMetrics when asked for)\n"
        "  /                   a page: targets, verdicts, findings with advice\n"
        "  /api/v1/targets     the same as JSON\n"
        "  /api/v1/findings\n"
        "  /healthz            200 while the watching goes on\n"
        "\n"
        "Reads only; listens on this host only unless told otherwise. docs/serve.md describes the\n"
        "configuration and the unit for systemd.\n"
        "\n"
        "Exit: 0 stopped by SIGINT or SIGTERM, 64 usage or configuration, 74 cannot listen or\n"
        "write.\n",
    .run = run,
};
