#include "nmtwatch/profile/alloc_run.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/profile/agent_call.h"
#include "reports/profile/agent_report.h"
#include "reports/text/escape.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_SINCE_JDK 11

/* One of the JVMs. */
struct sampled {
    struct agent_session session;
    bool open, started;
    int64_t began_ms;
};

static int complain(const struct failure *failure)
{
    tell_error("nmtwatch profile: %s\n", escape_name(failure->sentence).text);
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
    tell_error("nmtwatch profile: %s\n", problem);
    return EXIT_USAGE;
}

/* --- start ------------------------------------------------------------------------------------ */

static int begin(struct sampled *sampled, const struct alloc_run *run, const struct target *target)
{
    struct failure failure;
    char file[256], text[AGENT_WHOLE_MAX], error[400], *answer = NULL;
    if (target->identity.jdk_major > 0 && target->identity.jdk_major < SAMPLES_SINCE_JDK)
        return too_old(target);
    if (agent_session_open(&sampled->session, target, AGENT_START, run->library, &failure) !=
        FAILURE_NONE)
        return complain(&failure);
    sampled->open = true;
    snprintf(file, sizeof file, "%s/" EXCHANGE_RECORDING, sampled->session.exchange.theirs);
    if (!start_options_text(run->start, AGENT_START, file, text, sizeof text, error, sizeof error))
        return usage_error(error);
    if (agent_call(&sampled->session, text, &answer, &failure) != FAILURE_NONE)
        return complain(&failure);
    free(answer);
    sampled->started = true;
    sampled->began_ms = clock_ms(CLOCK_MONOTONIC);
    return 0;
}

/* --- stop ------------------------------------------------------------------------------------- */

static int tell(const struct target *target, const char *answer, int64_t duration_ms, bool json)
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
        int fd = create_private(name);
        FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
        bool good = out != NULL && alloc_report_json(&report, out);
        if ((out == NULL || fclose(out) == 0) && good)
            return 0;
        tell_error("nmtwatch profile: %s: %s\n", name, strerror(errno));
        return EXIT_IO;
    }
    int recording = exchange_read(&sampled->session.exchange, EXCHANGE_RECORDING);
    if (recording < 0) {
        tell_error("nmtwatch profile: pid %d left no recording: %s\n", (int)target->pid,
                   strerror(errno));
        return EXIT_IO;
    }
    snprintf(title, sizeof title, "Allocations of %.200s (pid %d)", target->identity.main,
             (int)target->pid);
    bool good = profile_output_write(recording, format, false, name, title, error, sizeof error);
    close(recording);
    if (!good) {
        tell_error("nmtwatch profile: %s\n", error);
        return EXIT_IO;
    }
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
            tell_error("nmtwatch profile: the file has what was recorded until then\n");
        return gone;
    }
    if (several && !run->json)
        printf("\n%s (pid %d)\n", escape_name(target->identity.main).text, (int)target->pid);
    int code = tell(target, answer, duration_ms, run->json);
    if (code == 0 && run->output != NULL) {
        code = write_output(run, sampled, answer, duration_ms);
        if (agent_print_lost(answer, stderr))
            code = EXIT_IO;
    }
    free(answer);
    return code;
}

/* --- all of it -------------------------------------------------------------------------------- */

int alloc_run(const struct alloc_run *run, const struct target *targets, size_t count)
{
    struct sampled *sampled = calloc(count + 1, sizeof *sampled);
    const struct target **waiting = calloc(count + 1, sizeof *waiting);
    size_t started = 0;
    int code = 0, failed;
    if (sampled == NULL || waiting == NULL) {
        tell_error("nmtwatch profile: out of memory\n");
        free(sampled);
        free(waiting);
        return EXIT_IO;
    }
    signals_catch(SIGNALS_END);
    for (size_t i = 0; i < count; i++) {
        failed = begin(&sampled[i], run, &targets[i]);
        if (failed != 0)
            code = failed;
        else
            waiting[started++] = &targets[i];
    }
    if (started > 0)
        timed_wait("sampling allocations of", waiting, started, run->duration_ms);
    for (size_t i = 0; i < count; i++) {
        failed = sampled[i].started ? finish(&sampled[i], run, count > 1) : 0;
        if (failed != 0)
            code = failed;
        if (sampled[i].open)
            agent_session_close(&sampled[i].session);
    }
    free(sampled);
    free(waiting);
    return code;
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
                   : tell(target, answer, 0, json);
    free(answer);
    agent_session_close(&session);
    return code;
}

/* --- match rules ----------------------------------------------------------------------------- */

#define CGROUP_BYTES_MAX 16384

static const char *const keys[] = {
    [MATCH_MAIN] = "main=", [MATCH_CGROUP] = "cgroup=", [MATCH_PID] = "pid="};

static bool take_term(struct match_term *term, const char *text, size_t length, char *error,
                      size_t error_size)
{
    int shown = length < 60 ? (int)length : 60;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t key = strlen(keys[i]);
        if (length <= key || strncmp(text, keys[i], key) != 0)
            continue;
        if (length - key >= sizeof term->pattern) {
            snprintf(error, error_size, "'%.*s...' is too long", shown, text);
            return false;
        }
        term->key = i;
        memcpy(term->pattern, text + key, length - key);
        term->pattern[length - key] = '\0';
        if (i != MATCH_PID)
            return true;
        char *end;
        errno = 0;
        long pid = strtol(term->pattern, &end, 10);
        term->pid = (pid_t)pid;
        if (errno == 0 && *end == '\0' && pid > 0 && term->pid == pid)
            return true;
    }
    snprintf(error, error_size, "'%.*s': expected main=PATTERN, cgroup=PATTERN or pid=NUMBER",
             shown, text);
    return false;
}

bool match_rules_parse(struct match_rules *rules, const char *text, char *error, size_t error_size)
{
    bool first = true;
    *rules = (struct match_rules){0};
    for (;;) {
        size_t length = strcspn(text, ",;");
        struct match_term *term = &rules->term[rules->count];
        if (rules->count == MATCH_TERMS_MAX) {
            snprintf(error, error_size, "more than %d terms", MATCH_TERMS_MAX);
            return false;
        }
        if (!take_term(term, text, length, error, error_size))
            return false;
        term->first = first;
        rules->count++;
        if (text[length] == '\0')
            return true;
        first = text[length] == ';';
        text += length + 1;
    }
}

static bool any_cgroup(const char *pattern, const char *cgroup)
{
    char path[4096];
    for (const char *line = cgroup; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *colon = memchr(line, ':', length);
        if (colon != NULL)
            colon = memchr(colon + 1, ':', length - (size_t)(colon + 1 - line));
        if (colon != NULL) {
            snprintf(path, sizeof path, "%.*s", (int)(line + length - colon - 1), colon + 1);
            if (fnmatch(pattern, path, 0) == 0)
                return true;
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

bool match_rules_fit_text(const struct match_rules *rules, pid_t pid, const char *main,
                          const char *cgroup)
{
    bool fits = false;
    for (int i = 0; i < rules->count; i++) {
        const struct match_term *term = &rules->term[i];
        if (term->first && fits)
            return true;
        if (term->first)
            fits = true;
        switch (term->key) {
        case MATCH_MAIN:
            fits = fits && fnmatch(term->pattern, main, 0) == 0;
            break;
        case MATCH_CGROUP:
            fits = fits && any_cgroup(term->pattern, cgroup);
            break;
        case MATCH_PID:
            fits = fits && term->pid == pid;
            break;
        }
    }
    return fits;
}

bool match_rules_fit(const struct match_rules *rules, const struct target *target)
{
    char path[64], cgroup[CGROUP_BYTES_MAX] = "";
    size_t used = 0;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)target->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0 && used < sizeof cgroup - 1; used += (size_t)got) {
        got = read(fd, cgroup + used, sizeof cgroup - 1 - used);
        if (got < 0)
            break;
    }
    if (fd >= 0)
        close(fd);
    return match_rules_fit_text(rules, target->pid, target->identity.main, cgroup);
}
