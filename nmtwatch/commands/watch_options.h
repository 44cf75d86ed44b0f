/*
 * watch_options: the command line of a watch: the rows of nmtwatch/watch/watch_options.def for
 * options_parse, and what `watch` and `record` share beyond them. Setup context.
 *
 *   struct watch_given given = {0};
 *   n = options_settings(watch_option_settings(false), WATCH_OPTION_COUNT, given.text, rows, n);
 *   options_parse(...);
 *   watch_given_apply(command, &given, config, false, &options);
 */
#ifndef NMTWATCH_COMMANDS_WATCH_OPTIONS_H
#define NMTWATCH_COMMANDS_WATCH_OPTIONS_H

#include "nmtwatch/commands/options.h"
#include "nmtwatch/watch/session.h"

/* The settings of a watch as they stand on the command line; options_settings fills it. */
struct watch_given {
    const char *text[WATCH_OPTION_COUNT];
};

/* What was given, over the initial values or those of a file. False with a sentence. */
bool watch_given_take(const struct watch_given *given, struct watch_options *options, char *error,
                      size_t error_size);
/* The initial values, then the file (NULL: none), then what was given. 0, or the exit code after
 * one line on stderr. */
int watch_given_apply(const struct command *command, const struct watch_given *given,
                      const char *config, bool soak, struct watch_options *options);

/* What watch and record share: the settings, --for, --config, --notify, --force, --json,
 * --no-color. */
struct watch_arguments {
    struct watch_given given;
    const char *config;
    bool no_color;
    bool json;
    enum session_output into_pipe; /* of the output when it is no terminal */
};
#define WATCH_ROWS_MAX (WATCH_OPTION_COUNT + 12)
size_t watch_arguments_rows(struct watch_arguments *arguments, struct session_options *options,
                            struct option_row *rows, size_t used);
int watch_arguments_apply(const struct command *command, const struct watch_arguments *arguments,
                          struct session_options *options);
/* Opens the PID operands (or, when options->all is set, every JVM there is) and watches them: as
 * JSON when asked, on a terminal with the live table. The exit code. */
int watch_options_run(const struct command *command, const struct watch_arguments *arguments,
                      char **operands, int count, struct session_options *options);

#endif
