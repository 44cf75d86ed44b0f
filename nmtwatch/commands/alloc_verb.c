#include "nmtwatch/commands/alloc_verb.h"

#include "nmtwatch/commands/options.h"
#include "nmtwatch/commands/target_option.h"
#include "nmtwatch/jvm/discover.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/profile/match_rules.h"
#include "reports/text/escape.h"
#include "nmtwatch/process/tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocations alone: a flame graph is of one thing. */
static int fill_in(const struct alloc_arguments *arguments, struct start_options *start)
{
    static const enum agent_option others[] = {OPTION_CPU, OPTION_WALL, OPTION_FILE, OPTION_ALLOC};
    char text[AGENT_WHOLE_MAX], error[400];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (start->value[others[i]] != NULL)
            return options_error(&command_profile,
                                 "--%s and `alloc` together: use start --alloc SIZE, then stop",
                                 start->name[others[i]]);
    }
    start->value[OPTION_CPU] = "0";
    start->value[OPTION_ALLOC] =
        arguments->interval != NULL ? arguments->interval : ALLOC_INTERVAL_DEFAULT;
    if (start_options_text(start, AGENT_START, NULL, text, sizeof text, error, sizeof error))
        return 0;
    /* The agent calls it alloc. */
    if (strncmp(error, "alloc=", 6) == 0)
        return options_error(&command_profile, "--alloc-interval %s", error + 6);
    return options_error(&command_profile, "%s", error);
}

/* Those of a host that the rules fit, moved to the front. */
static size_t keep_fitting(struct discovery *discovery, const struct match_rules *rules)
{
    size_t kept = 0;
    for (int i = 0; i < discovery->count; i++) {
        if (rules->count > 0 && !match_rules_fit(rules, &discovery->targets[i]))
            continue;
        struct target target = discovery->targets[i];
        discovery->targets[i] = discovery->targets[kept];
        discovery->targets[kept++] = target;
    }
    return kept;
}

static int run_all(const struct alloc_arguments *arguments, const struct alloc_run *run)
{
    struct match_rules rules = {0};
    struct discovery discovery;
    char error[300];
    if (arguments->match != NULL &&
        !match_rules_parse(&rules, arguments->match, error, sizeof error))
        return options_error(&command_profile, "--match: %s", error);
    int code = target_option_proc(&command_profile);
    if (code != 0)
        return code;
    if (discover_jvms(&discovery) != 0) {
        tell_error("nmtwatch profile: /proc cannot be read: %s\n", strerror(errno));
        return EXIT_IO;
    }
    size_t count = keep_fitting(&discovery, &rules);
    if (count == 0) {
        tell_error("nmtwatch profile: there is no JVM%s%s\n",
                   arguments->match != NULL ? " that fits " : "",
                   arguments->match != NULL ? escape_name(arguments->match).text : "");
        code = failure_exit_code(FAILURE_NOT_A_JVM);
    } else if (count > 1 && run->output != NULL && !pid_path_is_pattern(run->output)) {
        code = options_error(&command_profile, "-o '%s' for %zu JVMs: %%p in the name is the pid",
                             run->output, count);
    } else {
        code = alloc_run(run, discovery.targets, count);
    }
    discovery_free(&discovery);
    return code;
}

static int run_one(const char *pid, const struct alloc_run *run)
{
    struct target target;
    char error[400];
    int code = target_option_open(&command_profile, pid, &target);
    if (code == 0 && run->duration_ms == 0)
        code = alloc_run_ask(&target, run->library, run->json);
    else if (code == 0 && run->output != NULL && !pid_path_is_pattern(run->output) &&
             !profile_output_possible(run->output, error, sizeof error)) {
        tell_error("nmtwatch profile: %s\n", error);
        code = EXIT_IO;
    } else if (code == 0)
        code = alloc_run(run, &target, 1);
    target_close(&target);
    return code;
}

int alloc_verb(const char *pid, const struct alloc_arguments *arguments,
               struct start_options *start, struct alloc_run *run)
{
    enum profile_format format;
    bool many = arguments->all || arguments->match != NULL;
    if (many == (pid != NULL))
        return options_error(&command_profile,
                             many ? "a process id goes without --all and --match"
                                  : "a process id is missing, or --all or --match RULES");
    if (run->duration_ms == 0 && (many || arguments->interval != NULL || run->output != NULL))
        return options_error(&command_profile, "how long? --for TIME");
    if (run->output != NULL && !profile_output_format(run->output, &format))
        return options_error(&command_profile,
                             "-o '%s': expected a name in .html, .txt, .top, .json or .jfr",
                             run->output);
    int code = fill_in(arguments, start);
    if (code != 0)
        return code;
    start_options_end_after(start, run->duration_ms);
    run->start = start;
    return many ? run_all(arguments, run) : run_one(pid, run);
}
