/*
 * agent_options: the option string of the agent, checked: an unknown or bad option is an error that
 * starts nothing. The table is options.def; the command comes first:
 *
 *   start,cpu=10ms,file=/tmp/app.jfr      stop      dump      status      memory      alloc
 *
 * A backslash takes the comma or backslash after it for text. Names may be written with '-' for
 * '_'. An option stands once, and only with `start`; alloc, cpu and wall with `set`, too; `answer` goes
 * with every command.
 *
 * Pure: no file, clock or allocation, so that `nmtwatch profile` checks what it sends with the very
 * parser that reads it. Setup context.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agent_option {
#define OPTION(id, name, type, dflt, meaning) OPTION_##id,
#include "floor/wire/options.def"
    AGENT_OPTION_COUNT,
};

enum agent_option_type {
    AGENT_TYPE_FLAG,
    AGENT_TYPE_TIME,
    AGENT_TYPE_BYTES,
    AGENT_TYPE_COUNT,
    AGENT_TYPE_TEXT,
    AGENT_TYPE_BOOL,
};

enum agent_command {
    AGENT_START,
    AGENT_STOP,
    AGENT_DUMP,
    AGENT_STATUS,
    AGENT_MEMORY,
    AGENT_SET, /* other intervals, of what runs: alloc, cpu, wall */
    AGENT_ALLOC,
    AGENT_SITES,    /* as memory, with the call sites of level detail */
    AGENT_BASELINE, /* as memory, and what is now is subtracted in later answers */
};
#define AGENT_COMMAND_COUNT (AGENT_BASELINE + 1)

#define AGENT_TEXT_MAX        1024
#define AGENT_WHOLE_MAX       2048
#define AGENT_END_AFTER_MAX_S (366 * 86400LL)
#define AGENT_DEPTH_MAX       2048 /* as the documented design; a stack of it takes 32 KB */

struct agent_options {
    enum agent_command command;
    uint32_t given;                     /* bit per option */
    int64_t number[AGENT_OPTION_COUNT]; /* TIME: ns; BYTES; COUNT; FLAG and BOOL: 0, 1 */
    char text[AGENT_OPTION_COUNT][AGENT_TEXT_MAX];
    char whole[AGENT_WHOLE_MAX]; /* as given */
};

/* False with one sentence; what was understood up to there (the answer file) is in options. text
 * may be NULL or "": that is "start". */
bool agent_options_parse(const char *text, struct agent_options *options, char *error,
                         size_t error_size);
const char *agent_command_name(enum agent_command command);
const char *agent_option_name(enum agent_option option);
const char *agent_option_meaning(enum agent_option option);
const char *agent_option_default(enum agent_option option);
enum agent_option_type agent_option_type(enum agent_option option);
