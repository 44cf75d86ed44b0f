#include "nmtwatch/soak/soak_jvm.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "analyzers/native/internal.h"
#include "nmtwatch/watch/identify.h"
#include "nmtwatch/watch/watch_cost.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"
#include "nmtwatch/process/tell.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_MS 10000

/* --- what is said meanwhile ------------------------------------------------------------------- */

void soak_say(const struct soak_run *run, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tell_error("nmtwatch soak: %s %s\n", units_clock(run->now_ms).text, escape_name(text).text);
}

void soak_progress(struct soak_run *run)
{
    if (!isatty(STDERR_FILENO) || run->now_ms < run->next_progress_ms)
        return;
    run->next_progress_ms = run->now_ms + PROGRESS_MS;
    if (run->jvm_count == 0)
        soak_say(run, "no JVM yet");
    for (int i = 0; i < run->jvm_count; i++) {
        const struct soak_jvm *jvm = &run->jvms[i];
        struct judge_view view;
        if (watcher_ended(jvm->watcher))
            continue;
        judge_view(watcher_judge(jvm->watcher), &view);
        const struct target_identity *who = &watcher_target(jvm->watcher)->identity;
        soak_say(run, "pid %lld: %s, %s %s (%s), Class + Metaspace %s (%s), %d alerts",
                 (long long)who->pid, view.warm ? "judging" : "warming up",
                 internal_meaning(who->jdk_major), units_bytes(view.internal_bytes).text,
                 units_growth(view.internal_growth_bytes).text,
                 units_bytes(view.class_metaspace_bytes).text,
                 units_growth(view.class_metaspace_growth_bytes).text, view.active_alerts);
    }
}

/* --- sinks ------------------------------------------------------------------------------------ */

static struct soak_jvm *jvm_of(struct soak_run *run, const struct watcher *watcher)
{
    for (int i = 0; i < run->jvm_count; i++) {
        if (run->jvms[i].watcher == watcher)
            return &run->jvms[i];
    }
    return NULL;
}

static void check_recorder(struct soak_run *run, struct soak_jvm *jvm)
{
    if (jvm->recorder == NULL || jvm->record_failed || recorder_error(jvm->recorder) == NULL)
        return;
    jvm->record_failed = true;
    soak_say(run, "%s; judging goes on", recorder_error(jvm->recorder));
}

static void take_alert(struct soak_run *run, struct soak_jvm *jvm, const struct alert *alert)
{
    trial_alert(jvm->trial, alert);
    soak_say(run, "pid %d: %s %s: %s", (int)watcher_target(jvm->watcher)->pid,
             alert->state == ALERT_RAISED ? severity_name(alert->finding.severity) : "over:",
             finding_row(alert->finding.kind)->id, alert->finding.title);
    if (jvm->recorder != NULL) {
        recorder_alert(jvm->recorder, alert);
        check_recorder(run, jvm);
    }
}

static void on_event(void *context, struct watcher *watcher, const struct event *event,
                     const struct alerts *alerts)
{
    struct soak_run *run = context;
    struct soak_jvm *jvm = jvm_of(run, watcher);
    struct judge_view view;
    if (jvm == NULL)
        return;
    judge_view(watcher_judge(watcher), &view);
    trial_event(jvm->trial, event, &view);
    watch_cost_event(&jvm->cost, event);
    if (event->kind == EVENT_NOTE)
        soak_say(run, "pid %d: %s", (int)watcher_target(watcher)->pid, event->text);
    if (jvm->recorder != NULL) {
        recorder_event(jvm->recorder, event);
        check_recorder(run, jvm);
    }
    for (int i = 0; i < alerts->count; i++)
        take_alert(run, jvm, &alerts->alert[i]);
}

/* --- JVMs ------------------------------------------------------------------------------------- */

/* "%p" becomes the pid; without it the second JVM's name has its pid before the suffixes. False: too
 * long. */
static bool record_path(const char *pattern, pid_t pid, bool first, char *out, size_t size)
{
    const char *slash = strrchr(pattern, '/'), *name = slash != NULL ? slash + 1 : pattern;
    int stem = (int)(name - pattern + (ptrdiff_t)strcspn(name, "."));
    if (first || pid_path_is_pattern(pattern))
        return pid_path(pattern, pid, out, size);
    return (size_t)snprintf(out, size, "%.*s-%d%s", stem, pattern, (int)pid, pattern + stem) < size;
}

static void open_recorder(struct soak_run *run, struct soak_jvm *jvm, const struct target *target)
{
    char error[512];
    const struct soak_run_options *options = run->options;
    if (options->record == NULL || strcmp(options->record, "-") == 0)
        return;
    struct recording_header header = {.wall_start_ms = clock_ms(CLOCK_REALTIME),
                                      .warmup_s = options->watch.warmup_s,
                                      .target = target->identity,
                                      .thresholds = options->watch.thresholds};
    bool fits = record_path(options->record, target->pid, run->jvm_count == 0, jvm->recording,
                            sizeof jvm->recording);
    if (!fits)
        snprintf(error, sizeof error, "--record: the name is too long");
    jvm->recorder = !fits ? NULL
                          : recorder_create(jvm->recording, options->record_force, &header, error,
                                            sizeof error);
    if (jvm->recorder == NULL) {
        soak_say(run, "%s; judging goes on", error);
        jvm->recording[0] = '\0';
    }
}

void soak_jvm_close(struct soak_run *run, struct soak_jvm *jvm)
{
    if (jvm->recorder != NULL) {
        watch_cost_process(&jvm->cost);
        watch_cost_watcher(&jvm->cost, jvm->watcher);
        recorder_end(jvm->recorder, run->now_ms - jvm->start_ms, &jvm->cost);
        check_recorder(run, jvm);
        recorder_destroy(jvm->recorder);
        jvm->recorder = NULL;
    }
}

/* A JVM that came and went before it was warm gives its place to another one. */
static bool make_room(struct soak_run *run)
{
    if (run->jvm_count < SOAK_JVMS_MAX)
        return true;
    for (int i = 0; i < run->jvm_count; i++) {
        struct soak_jvm *jvm = &run->jvms[i];
        if (!watcher_ended(jvm->watcher) || trial_baseline_ms(jvm->trial) >= 0 ||
            trial_has_failed(jvm->trial))
            continue;
        soak_jvm_close(run, jvm);
        watcher_destroy(jvm->watcher);
        trial_destroy(jvm->trial);
        *jvm = run->jvms[--run->jvm_count];
        run->jvms_missed++;
        return true;
    }
    return false;
}

/* Takes the target over. */
bool soak_jvm_add(struct soak_run *run, struct target *target)
{
    const struct watch_sink sink = {on_event, run};
    if (!make_room(run)) {
        run->jvms_missed++;
        target_close(target);
        return false;
    }
    identify_target(target, run->options->watch.timeout_ms);
    run->now_ms = clock_ms(CLOCK_BOOTTIME) - run->start_ms;
    struct soak_jvm *jvm = &run->jvms[run->jvm_count];
    memset(jvm, 0, sizeof *jvm);
    jvm->start_ms = run->now_ms;
    jvm->trial = trial_create(&target->identity, &run->options->budgets);
    jvm->watcher =
        jvm->trial == NULL ? NULL : watcher_create(target, &run->options->watch, &sink, 0);
    if (jvm->watcher == NULL) {
        snprintf(run->failure, sizeof run->failure, "pid %d cannot be watched: %s",
                 (int)target->pid, strerror(errno));
        trial_destroy(jvm->trial);
        run->jvms_missed++;
        return false;
    }
    open_recorder(run, jvm, target);
    run->jvm_count++;
    if (isatty(STDERR_FILENO))
        soak_say(run, "pid %d is a JVM: %s, JDK %s", (int)target->pid, target->identity.main,
                 target->identity.jdk);
    return true;
}

bool soak_jvm_is_known(const struct soak_run *run, const struct target *target)
{
    for (int i = 0; i < run->jvm_count; i++) {
        const struct target *known = watcher_target(run->jvms[i].watcher);
        if (known->pid == target->pid && known->start_time_ticks == target->start_time_ticks)
            return true;
    }
    return false;
}
