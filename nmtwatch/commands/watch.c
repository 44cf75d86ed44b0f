/* nmtwatch watch: live table, alerts as they rise and clear. */
#include "nmtwatch/commands/options.h"
#include "nmtwatch/process/files.h"

/* nmtwatch record: a watch that writes a recording and prints alerts only. */

static int run_record(int argc, char **argv)
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
    .usage = "Usage: nmtwatch record PID -o FILE.nmt.gz [options]\n"
             "\n"
             "Watches one JVM and writes everything it learns: gzip members of JSON lines,\n"
             "whole after every line (zcat FILE | jq works while it runs; kill -9 loses at\n"
             "most the last sample).\n"
             "\n"
             "Exit: as nmtwatch watch.\n",
    .run = run_record,
};

static int run(int argc, char **argv)
{
    struct watch_arguments arguments = {.into_pipe = SESSION_LINES};
    struct session_options options = {0};
    const char *last_resort = NULL;
    struct option_row rows[WATCH_ROWS_MAX] = {
        {0, "all", NULL, NULL, &options.all, "every JVM on this host, those that come later too"},
        {0, "record", "FILE", option_take_text, &options.record,
         "write a recording too (%p: the pid)"},
        {0, "on-unacceptable", "stop-profiler", option_take_text, &last_resort,
         "when Internal grew beyond its last step: stop the profiler"},
    };
    int operands, code;
    size_t count = watch_arguments_rows(&arguments, &options, rows, 3);
    if (!options_parse(&command_watch, rows, count, argc, argv, &operands, &code))
        return code;
    code = watch_arguments_apply(&command_watch, &arguments, &options);
    if (code != 0)
        return code;
    if (last_resort != NULL && strcmp(last_resort, "stop-profiler") != 0)
        return options_error(&command_watch, "--on-unacceptable: expected stop-profiler");
    options.stop_profiler = last_resort != NULL;
    if (options.record != NULL && (options.all || operands > 1) &&
        !pid_path_is_pattern(options.record))
        return options_error(&command_watch,
                             "--record: with several JVMs the name needs a %%p for the pid");
    return watch_options_run(&command_watch, &arguments, argv + 1, operands, &options);
}

const struct command command_watch = {
    .name = "watch",
    .usage = "Usage: nmtwatch watch PID... | --all [options]\n"
             "\n"
             "Watches JVMs: free sources each interval, NMT every few seconds, names of\n"
             "classes only above the trigger rate, expensive commands only within the pause\n"
             "budget. Raises and clears alerts; prints what the watching cost.\n"
             "\n"
             "Exit: 0 no alert, 1 a WARNING was raised, 2 a CRITICAL one, 10-36 the JVM could\n"
             "not be watched (docs/exit-codes.md), 64 usage, 74 the recording could not be\n"
             "written.\n",
    .run = run,
};
