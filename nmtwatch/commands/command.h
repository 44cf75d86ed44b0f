/*
 * command: the verbs of nmtwatch. One file per verb; main.c is a table of these.
 *
 * run gets the arguments after the verb (argv[0] is the verb) and returns the exit code.
 * Exit codes are documented in docs/exit-codes.md.
 */
#ifndef NMTWATCH_COMMANDS_COMMAND_H
#define NMTWATCH_COMMANDS_COMMAND_H

#include "nmtwatch/process/messages.h"
#include "reports/page/page.h"

#include <stdbool.h>

struct command {
    const char *name;
    const char *summary; /* for `nmtwatch help` */
    const char *usage; /* `nmtwatch VERB --help`: synopsis and prose; options.h adds the options */
    int (*run)(int argc, char **argv);
};

extern const struct command command_list;
extern const struct command command_check;
extern const struct command command_top;
extern const struct command command_watch;
extern const struct command command_record;
extern const struct command command_replay;
extern const struct command command_report;
extern const struct command command_verdict;
extern const struct command command_rules;
extern const struct command command_repair;
extern const struct command command_profile;
extern const struct command command_soak;
extern const struct command command_diff;
extern const struct command command_plan;
extern const struct command command_analyze;
extern const struct command command_triage;
extern const struct command command_classlog;
extern const struct command command_holders;
extern const struct command command_observe;
extern const struct command command_explain;
extern const struct command command_serve;
extern const struct command command_doctor;
extern const struct command command_export;
extern const struct command command_flamegraph;

/* report: what `nmtwatch report` does, for verbs that end with a report. Setup context. */
/* The recording as page, pictures, Markdown and JSON in the directory, which is made when it is not
 * there. False after one line on stderr. */
bool report_make(const char *recording, const char *directory);
/* A page as stem.html and stem.md in the directory. False after one line on stderr. */
bool report_add_page(const char *directory, const char *stem, const struct page *page);
/* Makes it with the folders above it; false with errno. */
bool report_make_directory(const char *path);

#endif
