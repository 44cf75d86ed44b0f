/* nmtwatch record: a watch that writes a recording and prints alerts only. */
#include "nmtwatch/commands/watch_options.h"

static int run(int argc, char **argv)
{
    struct watch_arguments arguments = {.into_pipe = SESSION_QUIET};
    struct session_options options = {0};
    struct option_row rows[WATCH_ROWS_MAX] = {
        {'o', "output", "FILE", option_take_text, &options.record, "the recording (%p: the pid)"},
    };
    int operands, code;
    size_t count = watch_arguments_rows(&arguments, &options, rows, 1);
    if (!options_parse(&command_record, rows, count, argc, argv, &operands, &code))
        return code;
    code = watch_arguments_apply(&command_record, &arguments, &options);
    if (code != 0)
        return code;
    if (options.record == NULL)
        return options_error(&command_record, "-o FILE is missing");
    if (operands > 1)
        return options_error(&command_record,
                             "one process id at a time (watch --record takes more)");
    return watch_options_run(&command_record, &arguments, argv + 1, operands, &options);
}

const struct command command_record = {
    .name = "record",
    .summary = "record a JVM to a file",
    .usage =
        "Usage: nmtwatch record PID -o FILE.nmt.gz [options]\n"
        "\n"
        "Watches one JVM and writes everything it learns: gzip members of JSON lines, whole\n"
        "after every line (zcat FILE | jq works while it runs; kill -9 loses at most the last\n"
        "sample).\n"
        "\n"
        "Exit: as nmtwatch watch.\n",
    .run = run,
};
