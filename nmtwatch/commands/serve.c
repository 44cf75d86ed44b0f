/* nmtwatch serve: a daemon that watches every JVM of the host. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/process/messages.h"
#include "nmtwatch/serve/helper.h"
#include "nmtwatch/serve/web.h"

#include <stdlib.h>

struct arguments {
    const char *config, *serve[SERVE_SETTINGS];
    struct watch_given watch;
    int64_t for_ms;
    bool check, make_folders;
};

static void print_problem(const char *sentence)
{
    print_error("nmtwatch serve: %s\n", sentence);
}

/* The file first, then the command line. */
static bool configure(void *context, struct serve_options *options, char *error, size_t error_size)
{
    const struct arguments *arguments = context;
    serve_options_default(options);
    if (arguments->config != NULL &&
        !config_load_serve(arguments->config, options, arguments->check ? print_problem : NULL,
                           error, error_size))
        return false;
    for (size_t i = 0; i < SERVE_SETTINGS; i++)
        if (arguments->serve[i] != NULL &&
            !serve_options_take(options, serve_settings()[i].key, arguments->serve[i], error,
                                error_size))
            return false;
    return watch_given_take(&arguments->watch, &options->watch, error, error_size);
}

/* --check and --make-folders: the configuration is read, and nothing is served. */
static int run_once(struct arguments *arguments)
{
    char error[512];
    struct service_user ignored;
    struct serve_options *options = malloc(sizeof *options);
    if (options == NULL)
        return print_failure(EXIT_IO, "nmtwatch serve: out of memory\n");
    bool good = configure(arguments, options, error, sizeof error);
    bool named = good && options->user[0] != '\0' && strcmp(options->user, "auto") != 0;
    good = good && (!named || service_user_find(&ignored, options->user, error, sizeof error)) &&
           (!arguments->check || web_check(options, error, sizeof error));
    if (!good && error[0] != '\0')
        print_problem(error);
    int code = !good ? EXIT_USAGE : arguments->make_folders ? serve_make_folders(options) : 0;
    free(options);
    return code;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct option_row rows[4 + SERVE_SETTINGS + WATCH_OPTION_COUNT] = {
        {0, "config", "FILE", option_take_text, &arguments.config,
         "INI file with [serve], [watch] and [thresholds]; SIGHUP reads it again"},
        OPTION_FOR(&arguments.for_ms),
        OPTION_FLAG("check", &arguments.check,
                    "only test the configuration: 0, or 64 and a line for each error"),
        OPTION_FLAG("make-folders", &arguments.make_folders,
                    "only make the folders of the configuration and give them to its 'user'"),
    };
    size_t count = options_settings(serve_settings(), SERVE_SETTINGS, arguments.serve, rows, 4);
    count = options_settings(watch_option_settings(false), WATCH_OPTION_COUNT, arguments.watch.text,
                             rows, count);
    int operands, code;
    if (!options_parse(&command_serve, rows, count, argc, argv, &operands, &code))
        return code;
    if (operands > 0)
        return options_error(&command_serve, "unexpected operand '%s'", argv[1]);
    if (arguments.check || arguments.make_folders)
        return run_once(&arguments);
    code = target_option_proc(&command_serve);
    return code != 0 ? code : serve_run(configure, &arguments, arguments.for_ms);
}

const struct command command_serve = {
    .name = "serve",
    .usage = "Usage: nmtwatch serve [--config FILE] [--listen ADDR:PORT] [options]\n"
             "\n"
             "Watches every JVM of this host as they come and go, as `watch` does: free\n"
             "sources each second, NMT every few, what stops the application only within the\n"
             "pause budget. Answers HTTP from its last snapshot; a scrape never touches a\n"
             "JVM:\n"
             "\n"
             "  /metrics            for Prometheus (OpenMetrics when asked for)\n"
             "  /                   a page: targets, verdicts, findings with advice\n"
             "  /api/v1/targets     the same as JSON\n"
             "  /api/v1/findings\n"
             "  /healthz            200 while the watching goes on\n"
             "\n"
             "Reads only; listens on this host only unless configured otherwise.\n"
             "docs/serve.md describes the configuration and the unit for systemd.\n"
             "\n"
             "Exit: 0 stopped by SIGINT or SIGTERM, 64 usage or configuration, 74 cannot\n"
             "listen or write.\n",
    .run = run,
};
