/*
 * target_option: the PID operand of a verb -> an opened target, or the sentence why not.
 *
 * Calling context: setup, one thread.
 */
#ifndef NMTWATCH_COMMANDS_TARGET_OPTION_H
#define NMTWATCH_COMMANDS_TARGET_OPTION_H

#include "nmtwatch/commands/command.h"
#include "nmtwatch/jvm/target.h"

/* Reads a process id. 0, or EXIT_USAGE after one line on stderr. */
int target_option_pid(const struct command *command, const char *text, pid_t *pid);

/* Reads the id and opens the target. 0, or the exit code of the failure (failures.def, EXIT_USAGE)
 * after one line on stderr. */
int target_option_open(const struct command *command, const char *text, struct target *target);

/* For verbs that look for JVMs themselves: where /proc is not ours there would be none, or wrong
 * ones. 0, or the exit code after one line on stderr. */
int target_option_proc(const struct command *command);

#endif
