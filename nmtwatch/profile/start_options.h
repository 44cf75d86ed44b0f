/*
 * start_options: the agent's options on the command line of `nmtwatch profile`.
 *
 * The rows come from the agent's own table (agent/control/options.def): the same names, with '-'
 * for
 * '_', and --no-NAME for what is true or false. The given options become the agent's option string, which
 * the agent's own parser checks here: a mistake never reaches the JVM.
 *
 * Values point into argv. One thread.
 */
#ifndef NMTWATCH_PROFILE_START_OPTIONS_H
#define NMTWATCH_PROFILE_START_OPTIONS_H

#include "agent/control/agent_options.h"

#define START_OPTION_ROWS_MAX (2 * AGENT_OPTION_COUNT)

struct start_options {
    const char *value[AGENT_OPTION_COUNT]; /* NULL: not given */
    bool negated[AGENT_OPTION_COUNT];
    char name[AGENT_OPTION_COUNT][24];
    char negation[AGENT_OPTION_COUNT][28];
    char help[AGENT_OPTION_COUNT][128];
    char end_after[24];
};

/* None given; names, negations and help of all. */
void start_options_init(struct start_options *options);
/* --wall_threads becomes --wall-threads: the names of the option string are understood too. One that is true
 * or false may stand alone: --native is --native=true. After start_options_init. */
void start_options_spell(const struct start_options *options, int argc, char **argv);
/* The agent stops by itself some time after so long, should its starter be killed. */
void start_options_end_after(struct start_options *options, int64_t duration_ms);
/* The option string. file: in place of what was given, NULL: that. False with one sentence. */
bool start_options_text(const struct start_options *options, enum agent_command command,
                        const char *file, char *text, size_t size, char *error, size_t error_size);

#endif
