#include "nmtwatch/profile/one_shot.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "reports/profile/agent_report.h"
#include "reports/text/escape.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/messages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_SINCE_JDK 11

/* One of the JVMs. */
struct sampled {
    struct target target;
    struct agent_session session;
    bool open, started;
    int64_t began_ms;
};

static int complain(const struct failure *failure)
{
    print_error("nmtwatch profile: %s\n", escape_name(failure->sentence).text);
    return failure_exit_code(failure->kind);
}

static int too_old(const struct target *target)
{
    char detail[120], who[32];
    struct failure failure;
    snprintf(who, sizeof who, "pid %d", (int)target->pid);
    snprintf(detail, sizeof detail, "JDK %d does not sample allocations, JDK %d is the first to",
             target->identity.jdk_major, SAMPLES_SINCE_JDK);
    failure_set(&failure, FAILURE_AGENT, who, detail);
    return complain(&failure);
}

static int usage_error(const char *problem)
{
    return print_failure(EXIT_USAGE, "nmtwatch profile: %s\n", problem);
}

/* --- start ------------------------------------------------------------------------------------ */

#define TRY_AGAIN (-1)

/* again: a JVM that refuses may only be too young for it: TRY_AGAIN, without a word. */
static int begin(struct sampled *sampled, const struct alloc_run *run, const struct target *target,
                 bool again)
{
    struct failure failure;
    char file[256], text[AGENT_WHOLE_MAX], error[400], *answer = NULL;
    if (target->identity.jdk_major > 0 && target->identity.jdk_major < SAMPLES_SINCE_JDK)
        return too_old(target);
    if (agent_session_open(&sampled->session, target, AGENT_START, run->library, &failure) !=
        FAILURE_NONE)
        return again ? TRY_AGAIN : complain(&failure);
    sampled->open = true;
    snprintf(file, sizeof file, "%s/" EXCHANGE_RECORDING, sampled->session.exchange.theirs);
    if (!start_options_text(run->start, AGENT_START, file, text, sizeof text, error, sizeof error))
        return usage_error(error);
    if (agent_call(&sampled->session, text, &answer, &failure) != FAILURE_NONE)
        return again ? TRY_AGAIN : complain(&failure);
    free(answer);
    sampled->started = true;
    sampled->began_ms = clock_ms(CLOCK_MONOTONIC);
    return 0;
}

/* --- stop ------------------------------------------------------------------------------------- */

static int print_answer(const struct target *target, const char *answer, int64_t duration_ms,
                        bool json)
{
    struct failure failure;
    char who[32];
    const struct alloc_report report = {.answer = answer,
                                        .pid = target->pid,
                                        .jdk_major = target->identity.jdk_major,
                                        .main = target->identity.main,
                                        .duration_ms = duration_ms};
    if (json ? alloc_report_json(&report, stdout) : alloc_report_print(&report, stdout))
        return 0;
    snprintf(who, sizeof who, "pid %d", (int)target->pid);
    failure_set(&failure, FAILURE_BAD_REPLY, who, NULL);
    return complain(&failure);
}

/* answer: NULL where the JVM ended before it gave one; then there is no table. */
static int write_output(const struct alloc_run *run, const struct sampled *sampled,
                        const char *answer, int64_t duration_ms)
{
    char name[4096], error[300], title[320];
    enum profile_format format;
    const struct target *target = &sampled->session.target;
    if (!pid_path(run->output, target->pid, name, sizeof name) ||
        !profile_output_format(name, &format))
        return usage_error("-o: the name is too long");
    if (format == PROFILE_TOP && answer == NULL)
        return EXIT_IO;
    if (format == PROFILE_TOP) { /* the classes; a table of methods says what a page says better */
        const struct alloc_report report = {.answer = answer,
                                            .pid = target->pid,
                                            .jdk_major = target->identity.jdk_major,
                                            .main = target->identity.main,
                                            .duration_ms = duration_ms};
        FILE *out = result_open(name, 0);
        if (result_close(out, name, out != NULL && alloc_report_json(&report, out)))
            return 0;
        return print_failure(EXIT_IO, "nmtwatch profile: %s: %s\n", name, strerror(errno));
    }
    int recording = exchange_read(&sampled->session.exchange, EXCHANGE_RECORDING);
    if (recording < 0)
        return print_failure(EXIT_IO, "nmtwatch profile: pid %d left no recording: %s\n",
                             (int)target->pid, strerror(errno));
    snprintf(title, sizeof title, "Allocations of %.200s (pid %d)", target->identity.main,
             (int)target->pid);
    bool good = profile_output_write(recording, format, false, name, title, error, sizeof error);
    close(recording);
    if (!good)
        return print_failure(EXIT_IO, "nmtwatch profile: %s\n", error);
    if (!run->json)
        printf("written: %s\n", escape_name(name).text);
    return 0;
}

static int finish(struct sampled *sampled, const struct alloc_run *run, bool several)
{
    struct failure failure;
    char *answer = NULL;
    const struct target *target = &sampled->session.target;
    int64_t duration_ms = clock_ms(CLOCK_MONOTONIC) - sampled->began_ms;
    if (agent_call(&sampled->session, "stop", &answer, &failure) != FAILURE_NONE) {
        int gone = complain(&failure);
        if (run->output != NULL && write_output(run, sampled, NULL, duration_ms) == 0)
            print_error("nmtwatch profile: the file has what was recorded until then\n");
        return gone;
    }
    if (several && !run->json)
        printf("\n%s (pid %d)\n", escape_name(target->identity.main).text, (int)target->pid);
    int code = print_answer(target, answer, duration_ms, run->json);
    if (code == 0 && run->output != NULL) {
        code = write_output(run, sampled, answer, duration_ms);
        if (agent_print_lost(answer, stderr))
            code = EXIT_IO;
    }
    free(answer);
    return code;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Those that are under way: pointers, because a session may not move. */
struct alloc_group {
    const struct alloc_run *run;
    struct sampled *at[ALLOC_TARGETS_MAX];
    const struct target *target[ALLOC_TARGETS_MAX];
    int count, code;
    alloc_scan_fn *look;
    void *context;
};

static void failed(struct alloc_group *group, int code)
{
    if (code != 0)
        group->code = code;
}

/* NULL after having said why not. */
static struct sampled *place_for(struct alloc_group *group, const struct target *target)
{
    const char *output = group->run->output;
    if (group->count > 0 && output != NULL && !pid_path_is_pattern(output)) {
        print_error("nmtwatch profile: pid %d is left out: -o '%s' is one file; %%p in its name is "
                    "the pid\n",
                    (int)target->pid, escape_name(output).text);
        failed(group, EXIT_USAGE);
        return NULL;
    }
    struct sampled *sampled = group->count < ALLOC_TARGETS_MAX ? calloc(1, sizeof *sampled) : NULL;
    if (sampled == NULL) {
        print_error("nmtwatch profile: pid %d is left out: %s\n", (int)target->pid,
                    group->count < ALLOC_TARGETS_MAX ? "out of memory" : "there are too many");
        failed(group, EXIT_IO);
    }
    return sampled;
}

bool alloc_take(struct alloc_group *group, const struct target *target, bool again)
{
    struct sampled *sampled = place_for(group, target);
    struct target unwanted = *target;
    if (sampled == NULL) {
        if (group->look != NULL)
            target_close(&unwanted);
        return true;
    }
    sampled->target = *target;
    int code = begin(sampled, group->run, &sampled->target, again);
    if (code == TRY_AGAIN) {
        if (sampled->open)
            agent_session_close(&sampled->session);
        free(sampled);
        return false;
    }
    failed(group, code);
    group->at[group->count] = sampled;
    group->target[group->count++] = &sampled->target;
    return true;
}

static void look_for_more(void *context, struct timed *timed)
{
    struct alloc_group *group = context;
    group->look(group->context, group);
    timed->count = (size_t)group->count;
}

static int run_group(struct alloc_group *group)
{
    struct timed timed = {.targets = group->target, .count = (size_t)group->count};
    bool started = group->look != NULL;
    for (int i = 0; i < group->count; i++)
        started = started || group->at[i]->started;
    if (group->look != NULL) {
        timed.look = look_for_more;
        timed.context = group;
    }
    if (started)
        timed_wait("sampling allocations of", &timed, group->run->duration_ms);
    for (int i = 0; i < group->count; i++) {
        struct sampled *sampled = group->at[i];
        if (sampled->started)
            failed(group, finish(sampled, group->run, group->count > 1));
        if (sampled->open)
            agent_session_close(&sampled->session);
        if (group->look != NULL)
            target_close(&sampled->target);
        free(sampled);
    }
    int code = group->look != NULL && group->count == 0 && group->code == 0 ? -1 : group->code;
    free(group);
    return code;
}

static struct alloc_group *new_group(const struct alloc_run *run)
{
    struct alloc_group *group = calloc(1, sizeof *group);
    if (group == NULL)
        print_error("nmtwatch profile: out of memory\n");
    else
        group->run = run;
    signals_catch(SIGNALS_END);
    return group;
}

int alloc_run(const struct alloc_run *run, const struct target *target)
{
    struct alloc_group *group = new_group(run);
    if (group == NULL)
        return EXIT_IO;
    alloc_take(group, target, false);
    return run_group(group);
}

int alloc_run_matching(const struct alloc_run *run, alloc_scan_fn *look, void *context)
{
    struct alloc_group *group = new_group(run);
    if (group == NULL)
        return EXIT_IO;
    group->look = look;
    group->context = context;
    return run_group(group);
}

int alloc_run_ask(const struct target *target, const char *library, bool json)
{
    struct agent_session session;
    struct failure failure;
    char *answer = NULL;
    if (agent_session_open(&session, target, AGENT_ALLOC, library, &failure) != FAILURE_NONE)
        return complain(&failure);
    int code = agent_call(&session, "alloc", &answer, &failure) != FAILURE_NONE
                   ? complain(&failure)
                   : print_answer(target, answer, 0, json);
    free(answer);
    agent_session_close(&session);
    return code;
}
