#include "nmtwatch/commands/target_option.h"

#include "nmtwatch/commands/options.h"
#include "nmtwatch/process/tell.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int target_option_pid(const struct command *command, const char *text, pid_t *pid)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < 1 ||
        number > INT_MAX)
        return options_error(command, "'%s' is not a process id", text);
    *pid = (pid_t)number;
    return 0;
}

int target_option_proc(const struct command *command)
{
    struct failure failure;
    if (target_proc_is_ours())
        return 0;
    failure_set(&failure, FAILURE_FOREIGN_PROC, "a JVM", NULL);
    tell_error("nmtwatch %s: %s\n", command->name, failure.sentence);
    return failure_exit_code(failure.kind);
}

int target_option_open(const struct command *command, const char *text, struct target *target)
{
    pid_t pid = 0;
    struct failure failure;
    int code = target_option_pid(command, text, &pid);
    if (code != 0)
        return code;
    if (target_open(target, pid, &failure) == FAILURE_NONE)
        return 0;
    tell_error("nmtwatch %s: %s\n", command->name, failure.sentence);
    return failure_exit_code(failure.kind);
}
