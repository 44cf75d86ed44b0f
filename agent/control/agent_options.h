/*
 * agent_options: the option string of the agent, checked: an unknown or bad option is an error that
 * starts nothing. The table is options.def; the command comes first:
 *
 *   start,cpu=10ms,file=/tmp/app.jfr      stop      dump      status      memory
 *
 * A backslash takes the comma after it for text. Setup context.
 */
#ifndef AGENT_CONTROL_AGENT_OPTIONS_H
#define AGENT_CONTROL_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agent_option {
#define OPTION(id, name, type, dflt, meaning) OPTION_##id,
#include "agent/control/options.def"
#undef OPTION
    AGENT_OPTION_COUNT,
};

enum agent_command { AGENT_START, AGENT_STOP, AGENT_DUMP, AGENT_STATUS, AGENT_MEMORY };

#define AGENT_TEXT_MAX 1024
struct agent_options {
    enum agent_command command;
    uint32_t given;                     /* bit per option */
    int64_t number[AGENT_OPTION_COUNT]; /* TIME: ns; BYTES; COUNT; FLAG and BOOL: 0, 1 */
    char text[AGENT_OPTION_COUNT][AGENT_TEXT_MAX];
    char whole[2048]; /* as given */
};

/* False with one sentence. text may be NULL or "": that is "start". */
bool agent_options_parse(const char *text, struct agent_options *options, char *error,
                         size_t error_size);
const char *agent_option_name(enum agent_option option);
const char *agent_option_meaning(enum agent_option option);

#endif
