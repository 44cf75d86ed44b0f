/*
 * options: one table per verb says which options it has; the same table parses and prints help.
 *
 *   static int run(int argc, char **argv)
 *   {
 *       bool json = false;
 *       const char *output = NULL;
 *       int64_t interval_ms = 1000;
 *       const struct option_row rows[] = {
 *           {0, "interval", "TIME", option_take_duration_ms, &interval_ms, "between looks (1s)"},
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
 * Ownership: values point into argv. One thread.
 */
#ifndef NMTWATCH_COMMANDS_OPTIONS_H
#define NMTWATCH_COMMANDS_OPTIONS_H

#include "nmtwatch/commands/command.h"

#include <stdbool.h>
#include <stddef.h>

/* Stores the value; NULL when it is good, else what was expected instead ("a number above 0"). */
typedef const char *option_take_fn(const char *value, void *into);

struct option_row {
    char letter;          /* 'o' for -o; 0: none */
    const char *name;     /* without the dashes */
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

/* Prints the error line for something only the verb can know; returns EXIT_USAGE. */
int options_error(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Colours on standard output: a terminal, no NO_COLOR in the environment, not refused. */
bool options_colour(bool refused);

option_take_fn option_take_text;        /* const char * */
option_take_fn option_take_count;       /* int64_t, 1 .. */
option_take_fn option_take_duration_ms; /* int64_t: "500ms", "10s", "5m", "2h" */
option_take_fn option_take_bytes;       /* int64_t: "64M", "1G" */

#endif
