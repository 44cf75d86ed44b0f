#include "nmtwatch/profile/agent_call.h"

#include "nmtwatch/jvm/syscall_filter.h"

#include <stdio.h>

static const char *kills(const struct syscall_filter *filter, const struct target *target,
                         const char *mechanism)
{
    return syscall_filter_kills(filter, target->identity.jdk_major, mechanism);
}

/* The agent tries perf_event_open and timer_create by itself, and may fall back from the first to the second: so perf
 * is no choice without timer_create. */
static const char *permitted_timer(const struct syscall_filter *filter, const struct target *target)
{
    if (kills(filter, target, "agent timer perf") == NULL)
        return "auto";
    if (kills(filter, target, "agent timer posix") == NULL)
        return "posix";
    return kills(filter, target, "agent timer itimer") == NULL ? "itimer" : NULL;
}

/* The interval of an option that samples by signals; 0: it does not. */
static bool samples(const struct agent_options *options, enum agent_option option)
{
    bool given = (options->given & (UINT32_C(1) << option)) != 0;
    return options->number[option] > 0 && (given || options->command == AGENT_START);
}

enum failure_kind agent_filter_fit(const struct target *target, char *text, size_t size,
                                   struct failure *failure)
{
    struct agent_options options;
    char who[32], mechanism[40], words[200], detail[300], error[200];
    const struct syscall_filter *filter;
    const char *call = NULL;
    if (syscall_filter_asked_anyway() ||
        !agent_options_parse(text, &options, error, sizeof error) ||
        (options.command != AGENT_START && options.command != AGENT_SET) ||
        (filter = syscall_filter_of(target))->source == FILTER_NONE ||
        kills(filter, target, "load") != NULL) /* attach has the reason */
        return FAILURE_NONE;
    snprintf(who, sizeof who, "pid %d", (int)target->pid);
    const char *wanted = options.text[OPTION_TIMER];
    const char *advice = "allocations need no signals: --cpu 0 --alloc 512k";
    if (samples(&options, OPTION_CPU) && (wanted[0] == '\0' || strcmp(wanted, "auto") == 0)) {
        const char *timer = permitted_timer(filter, target);
        size_t used = strlen(text);
        if (timer == NULL || (options.command == AGENT_SET && strcmp(timer, "auto") != 0))
            call = kills(filter, target, timer == NULL ? "agent timer posix" : "agent timer perf");
        else if (strcmp(timer, "auto") != 0 && strstr(text, ",timer=auto") == NULL)
            snprintf(text + used, size - used, ",timer=%s", timer);
        else if (strcmp(timer, "auto") != 0)
            call = kills(filter, target, "agent timer perf"); /* asked for by name */
    } else if (samples(&options, OPTION_CPU)) {
        snprintf(mechanism, sizeof mechanism, "agent timer %.20s", wanted);
        call = kills(filter, target, mechanism);
        advice = "leave --timer to nmtwatch, or --cpu 0 --alloc 512k";
    }
    if (call == NULL && samples(&options, OPTION_WALL))
        call = kills(filter, target, "agent wall");
    if (call == NULL)
        return FAILURE_NONE;
    syscall_filter_words(filter, words, sizeof words);
    snprintf(detail, sizeof detail, "sampling needs %s(); %s; %s", call, advice, words);
    return failure_set(failure, FAILURE_SECCOMP, who, detail);
}
