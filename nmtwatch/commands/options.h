/* options: one table per verb says which options it has; the same table parses and prints help.
 *
 *   static int run(int argc, char **argv)
 *   {
 *       bool json = false;
 *       const char *output = NULL;
 *       int64_t interval_ms = 1000;
 *       const struct option_row rows[] = {
 *           {0, "interval", "TIME", option_take_duration_ms, &interval_ms, "between polls (1s)"},
 *           {'o', "output", "FILE", option_take_text, &output, "where to write"},
 *           {0, "json", NULL, NULL, &json, "print JSON"},
 *       };
 *       int operands, code;
 *       if (!options_parse(&command_x, rows, OPTION_COUNT(rows), argc, argv, &operands, &code))
 *           return code;
 *       for (int i = 1; i <= operands; i++) ... argv[i] ...
 *
 * Options and operands may stand in any order; `--opt value` and `--opt=value` are the same; `--`
 * ends the options. Names are never abbreviated: a script must not change its meaning when an
 * option is added. --help is every verb's and needs no row. Errors are one line on stderr,
 * `nmtwatch VERB: what is wrong (see nmtwatch help VERB)`, and exit code 64.
 * Ownership: values point into argv. One thread. */
#pragma once

#include "nmtwatch/jvm/target.h"
#include "nmtwatch/profile/agent_call.h"
#include "nmtwatch/watch/watch_options.h"
#include "nmtwatch/watch/session.h"
#include "reports/json/json_out.h"
#include "nmtwatch/process/messages.h"
#include "reports/page/page.h"
#include "nmtwatch/serve/serve_options.h"

#include <stdbool.h>
#include <stddef.h>

/* command: the verbs of nmtwatch. One file per verb; their rows are in commands.def.
 *
 * run gets the arguments after the verb (argv[0] is the verb) and returns the exit code.
 * Exit codes are documented in docs/exit-codes.md. */
struct command {
    const char *name;
    const char *usage; /* `nmtwatch VERB --help`: synopsis and prose; options.h adds the options */
    int (*run)(int argc, char **argv);
    bool apart; /* it reads the JVM's files and memory by itself: in a child that can be given up */
};

#define COMMAND(id, ...) extern const struct command command_##id;
#include "nmtwatch/commands/commands.def"

/* Stores the value; NULL when it is good, else what was expected instead ("a number above 0"). */
typedef const char *option_take_fn(const char *value, void *into);

struct option_row {
    char letter;          /* 'o' for -o; 0: none */
    const char *name;     /* without the dashes in front; '_' stands for a dash */
    const char *value;    /* what the value is called in help, "TIME"; NULL: a flag */
    option_take_fn *take; /* NULL for a flag: *(bool *)into becomes true */
    void *into;
    const char *help;
};

#define OPTION_COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

/* True: go on, the operands are argv[1] .. argv[*operands]. False: the verb returns *code (help was
 * printed, or an error). */
bool options_parse(const struct command *command, const struct option_row *rows, size_t row_count,
                   int argc, char **argv, int *operands, int *code);

/* Appends a row for each setting to the `used` first ones; returns how many there are then. text[] gets the
 * values of the command line, "yes" for a flag, NULL for an option that was not given. Once a process: the
 * help texts are static. */
size_t options_settings(const struct setting *settings, size_t count, const char *text[],
                        struct option_row *rows, size_t used);

/* A row for each of the agent's options, which point into options; returns how many. */
size_t options_agent(struct start_options *options, struct option_row *rows);

/* Prints the error line for something only the verb can know; returns EXIT_USAGE. */
int options_error(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Colours on standard output: a terminal, no NO_COLOR in the environment, not refused. */
bool options_colour(bool refused);

/* Standard output is a terminal whose cursor can be moved. */
bool options_screen(void);

/* Rows that mean the same in every verb that has them. */
#define OPTION_FLAG(name, into, help)                                                              \
    (struct option_row)                                                                            \
    {                                                                                              \
        0, name, NULL, NULL, into, help                                                            \
    }
#define OPTION_VALUE(name, value, take, into, help)                                                \
    (struct option_row)                                                                            \
    {                                                                                              \
        0, name, value, option_take_##take, into, help                                             \
    }
#define OPTION_NO_COLOR(into) OPTION_FLAG("no-color", into, "no colours")
#define OPTION_FOR(into)                                                                           \
    OPTION_VALUE("for", "TIME", span_ms, into, "stop after this (until interrupted)")
#define OPTION_FORCE(into)  OPTION_FLAG("force", into, "overwrite an existing recording")
#define OPTION_CONFIG(into) OPTION_VALUE("config", "FILE", text, into, "INI file with [thresholds]")
#define OPTION_CONFIG_WATCH(into)                                                                  \
    OPTION_VALUE("config", "FILE", text, into, "INI file with [thresholds] and [watch]")
#define OPTION_JSON(into)     OPTION_FLAG("json", into, "one JSON object")
#define OPTION_MARKDOWN(into) OPTION_FLAG("markdown", into, "Markdown, for a ticket")
#define OPTION_MATCH(into)                                                                         \
    OPTION_VALUE("match", "RULES", text, into,                                                     \
                 "only JVMs that match: main=PATTERN,user=PATTERN;unit=PATTERN;pid=N")
#define OPTION_TIMEOUT(into, initial)                                                              \
    OPTION_VALUE("timeout", "TIME", duration_ms, into,                                             \
                 "for each exchange with the JVM (" initial ")")
#define OPTION_NOTIFY(into)                                                                        \
    OPTION_VALUE("notify", "CMD", text, into, "run for each alert, JSON on its standard input")

#define OPTION_UNDER_SECCOMP                                                                       \
    OPTION_VALUE(                                                                                  \
        "nmt-under-seccomp", "skip|ask", under_seccomp, NULL,                                      \
        "a question that leads to a system call which the JVM's filter (seccomp) answers "         \
        "with its end: skip it, or ask it all the same (skip)")

option_take_fn option_take_under_seccomp; /* for this process */
option_take_fn option_take_text;          /* const char * */
option_take_fn option_take_count;         /* int64_t, 1 .. */
option_take_fn option_take_duration_ms;   /* int64_t: "500ms", "10s", "5m", "2h" */
option_take_fn option_take_span_ms;       /* the same, above 0 */
option_take_fn option_take_bytes;         /* int64_t: "64M", "1G" */

/* target_option: the PID operand of a verb -> an opened target, or the sentence why not. A name stands for a PID: a
 * main class, jar, unit, container or pod, or rules (target_match_name), which one JVM has to fit.
 *
 * Calling context: setup, one thread. */
/* "architecture" and "emulated" of a JVM. */
void target_machine_json(struct json_out *out, const struct target *target);

/* Reads a process id or a name. 0, or the exit code after a line on stderr, and a line for each JVM of the name. */
int target_option_pid(const struct command *command, const char *text, pid_t *pid);

/* Reads the id and opens the target. 0, or the exit code of the failure (failures.def, EXIT_USAGE)
 * after one line on stderr. */
int target_option_open(const struct command *command, const char *text, struct target *target);

/* The JVMs that fit, match NULL: all, at this moment. 0, or the exit code after one line on stderr. */
int target_option_all(const struct command *command, const struct target_match *match,
                      struct discovery *found);
/* What serve calls it by default. */
void target_option_label(const struct target *target, char label[static TARGET_LABEL_MAX]);

/* For verbs that look for JVMs themselves: where /proc is not ours there would be none, or wrong
 * ones. 0, or the exit code after one line on stderr. */
int target_option_proc(const struct command *command);

/* target_many: --all and --match RULES: the JVMs that fit, those that start meanwhile included.
 *
 *   target_many_open -> target_many_scan, again and again -> target_many_none, where it gave nothing
 *                    -> target_many_close */
struct target_many;
/* match: NULL: all. NULL with the exit code after one line on stderr. */
struct target_many *target_many_open(const struct command *command, const char *match, int *code);
/* Once a second at most, whatever it is called: calls take for each JVM that it has not taken yet. young: it
 * may not be able to answer yet. False: not now, it is shown again at the next poll; true: the target is the
 * callee's. */
void target_many_scan(struct target_many *many,
                      bool (*take)(void *context, const struct target *target, bool young),
                      void *context);
/* Says that there is none; returns the exit code. */
int target_many_none(const struct target_many *many);
void target_many_close(struct target_many *many);

/* watch_options: the command line of a watch: the rows of nmtwatch/watch/watch_options.def for
 * options_parse, and what `watch` and `record` share beyond them. Setup context.
 *
 *   struct watch_given given = {0};
 *   n = options_settings(watch_option_settings(false), WATCH_OPTION_COUNT, given.text, rows, n);
 *   options_parse(...);
 *   watch_given_apply(command, &given, config, false, &options); */

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
    bool no_color, json;
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

/* config: an INI file -> thresholds, defaults of `watch`, and what `serve` does.
 *
 *   [thresholds]                 keys and limits: `nmtwatch help thresholds`, docs/thresholds.md
 *   internal_investigate_bytes = 500MB
 *   family_rate_per_s = 2
 *   [watch]                      keys: nmtwatch/watch/watch_options.def
 *   nmt_interval = 5s
 *   [serve]                      keys: nmtwatch/serve/serve_options.def, docs/serve.md
 *   listen = 127.0.0.1:9779
 *   [receiver NAME]              keys: nmtwatch/alert/delivery.h, docs/alerting.md
 *   kind = alertmanager
 *
 * Every value is checked; the first error is one sentence "file:line: what". An unknown section or
 * key is an error: a typo must not be a threshold that silently stays at its default. Setup
 * context. */
/* Values not in the file stay as they are. False with the sentence in error; options are then of no
 * use. */
bool config_load(const char *path, struct watch_options *options, char *error, size_t error_size);
/* each: gets every wrong value, not the first one only, and error stays empty; NULL: nobody. */
typedef void config_error_fn(const char *sentence);
bool config_load_serve(const char *path, struct serve_options *options, config_error_fn *each,
                       char *error, size_t error_size);
