/* nmtwatch rules: the thresholds as Prometheus alerting rules, on standard output. */
#include "nmtwatch/commands/options.h"
#include "reports/metrics/prometheus_rules.h"

static bool print_json(const struct thresholds *thresholds, const char *runbooks)
{
    struct json_out out = {0};
    const char *text = prometheus_rules_json(&out, thresholds, runbooks);
    if (text != NULL)
        fputs(text, stdout);
    json_out_free(&out);
    return text != NULL;
}

static int run(int argc, char **argv)
{
    bool json = false;
    const char *config = NULL, *runbooks = NULL;
    static struct serve_options options; /* 12 KB */
    const struct option_row rows[] = {
        {0, "config", "FILE", option_take_text, &config,
         "thresholds of this INI file, and its runbooks"},
        {0, "runbooks", "URL", option_take_text, &runbooks,
         "address in front of class-explosion.md and the like "
         "(file:///usr/share/doc/nmtwatch/runbooks/)"},
        {0, "json", NULL, NULL, &json, "JSON, which Prometheus reads as well"},
    };
    int operands, code;
    if (!options_parse(&command_rules, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
        return code;
    if (operands > 0)
        return options_error(&command_rules, "unexpected operand '%s'", argv[1]);

    serve_options_default(&options);
    char error[512];
    if (config != NULL && !config_load_serve(config, &options, NULL, error, sizeof error))
        return print_failure(EXIT_USAGE, "nmtwatch rules: %s\n", error);
    if (runbooks == NULL)
        runbooks = options.runbooks;
    const struct thresholds *thresholds = &options.watch.thresholds;
    if (json ? print_json(thresholds, runbooks)
             : prometheus_rules_yaml(thresholds, runbooks, stdout))
        return 0;
    if (ferror(stdout))
        return 0; /* main reports it, unless only the reader has left */
    return print_failure(EXIT_IO, "nmtwatch rules: the rules could not be written\n");
}

const struct command command_rules = {
    .name = "rules",
    .usage = "Usage: nmtwatch rules [--config FILE] [--runbooks URL] [--json]\n"
             "\n"
             "Prints a rule file for Prometheus, one rule for each kind of finding, made from\n"
             "the same table of thresholds as the alerts of `watch`. Check it with `promtool\n"
             "check rules`. Series jvm_* and process_* are those of Prometheus' client_java,\n"
             "which `nmtwatch serve` exports as well; nmtwatch_* are those of `nmtwatch\n"
             "serve` alone. The rules use keep_firing_for: Prometheus 2.42 or later.\n"
             "\n"
             "Exit codes: 0 printed, 64 usage or a bad configuration, 74 writing failed.\n",
    .run = run,
};
