/*
 * watch_options: the options that `watch` and `record` share, as rows for options_parse, and what
 * has to be checked once they are read. Setup context.
 */
#ifndef NMTWATCH_COMMANDS_WATCH_OPTIONS_H
#define NMTWATCH_COMMANDS_WATCH_OPTIONS_H

#include "nmtwatch/commands/options.h"
#include "nmtwatch/watch/session.h"

struct watch_arguments {
    int64_t interval_ms, nmt_interval_ms, loaders_interval_ms, for_ms; /* -1: not given */
    const char *pause_budget;
    const char *warmup;
    const char *config;
    const char *notify;
    int64_t timeout_ms;
    bool no_tap;
    bool allow_full_gc;
    bool no_color;
    bool json;
    bool force;
};

#define WATCH_ARGUMENTS_NONE                                                                       \
    {                                                                                              \
        .interval_ms = -1, .nmt_interval_ms = -1, .loaders_interval_ms = -1, .for_ms = -1,         \
        .timeout_ms = -1                                                                           \
    }

#define WATCH_OPTION_ROWS(arguments)                                                               \
    {0,                                                                                            \
     "interval",                                                                                   \
     "TIME",                                                                                       \
     option_take_duration_ms,                                                                      \
     &(arguments).interval_ms,                                                                     \
     "between looks at what is free (1s)"},                                                        \
        {0,                                                                                        \
         "nmt-interval",                                                                           \
         "TIME",                                                                                   \
         option_take_duration_ms,                                                                  \
         &(arguments).nmt_interval_ms,                                                             \
         "between NMT summaries (5s)"},                                                            \
        {0,                                                                                        \
         "loaders-interval",                                                                       \
         "TIME",                                                                                   \
         option_take_duration_ms,                                                                  \
         &(arguments).loaders_interval_ms,                                                         \
         "between class-loader statistics (1m)"},                                                  \
        {0,                                                                                        \
         "for",                                                                                    \
         "TIME",                                                                                   \
         option_take_duration_ms,                                                                  \
         &(arguments).for_ms,                                                                      \
         "stop after this (until interrupted)"},                                                   \
        {0,                                                                                        \
         "warmup",                                                                                 \
         "TIME|auto",                                                                              \
         option_take_text,                                                                         \
         &(arguments).warmup,                                                                      \
         "when the baseline is taken (auto: when class loads have fallen)"},                       \
        {0,                                                                                        \
         "pause-budget",                                                                           \
         "PAUSE/SPAN",                                                                             \
         option_take_text,                                                                         \
         &(arguments).pause_budget,                                                                \
         "what dear commands may stop the JVM for (200ms/10min)"},                                 \
        {0,                                                                                        \
         "timeout",                                                                                \
         "TIME",                                                                                   \
         option_take_duration_ms,                                                                  \
         &(arguments).timeout_ms,                                                                  \
         "for one exchange with the JVM (5s)"},                                                    \
        {0,                                                                                        \
         "config",                                                                                 \
         "FILE",                                                                                   \
         option_take_text,                                                                         \
         &(arguments).config,                                                                      \
         "INI file with [thresholds] and [watch]"},                                                \
        {0,                                                                                        \
         "notify",                                                                                 \
         "CMD",                                                                                    \
         option_take_text,                                                                         \
         &(arguments).notify,                                                                      \
         "run for each alert, JSON on its standard input"},                                        \
        {0,                                                                                        \
         "no-tap",                                                                                 \
         NULL,                                                                                     \
         NULL,                                                                                     \
         &(arguments).no_tap,                                                                      \
         "never switch class-load logging on in the JVM"},                                         \
        {0,                                                                                        \
         "allow-full-gc",                                                                          \
         NULL,                                                                                     \
         NULL,                                                                                     \
         &(arguments).allow_full_gc,                                                               \
         "allow GC.class_histogram without -all (JDK 8)"},                                         \
        {0, "force", NULL, NULL, &(arguments).force, "overwrite an existing recording"},           \
        {0, "no-color", NULL, NULL, &(arguments).no_color, "no colours"},                          \
    {                                                                                              \
        0, "json", NULL, NULL, &(arguments).json, "one JSON object per line"                       \
    }

/* Config file first, then the command line. 0, or the exit code after one line on stderr. */
int watch_options_apply(const struct command *command, const struct watch_arguments *arguments,
                        struct session_options *options);
/* Opens the PID operands (or, when options->all is set, every JVM there is) and watches them: as
 * JSON when asked, on a terminal with the live table, into a pipe as said here. The exit code. */
int watch_options_run(const struct command *command, const struct watch_arguments *arguments,
                      enum session_output into_pipe, char **operands, int count,
                      struct session_options *options);

#endif
