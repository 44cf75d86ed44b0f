#include "nmtwatch/soak/soak_jvm.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "analyzers/native/internal.h"
#include "nmtwatch/watch/identify.h"
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
        const struct watcher *watcher = run->jvms[i].watched->watcher;
        struct judge_view view;
        if (watcher_ended(watcher))
            continue;
        judge_view(watcher_judge(watcher), &view);
        const struct target_identity *who = &watcher_target(watcher)->identity;
        soak_say(run, "pid %lld: %s, %s %s (%s), Class + Metaspace %s (%s), %d alerts",
                 (long long)who->pid, view.warm ? "judging" : "warming up",
                 internal_meaning(who->jdk_major), units_bytes(view.internal_bytes).text,
                 units_growth(view.internal_growth_bytes).text,
                 units_bytes(view.class_metaspace_bytes).text,
                 units_growth(view.class_metaspace_growth_bytes).text, view.active_alerts);
    }
}

/* --- the sink --------------------------------------------------------------------------------- */

static void on_record_failed(void *context, struct watched *watched, const char *sentence)
{
    (void)watched;
    soak_say(context, "%s; judging goes on", sentence);
}

static void take_alert(struct soak_run *run, const struct watched *watched,
                       const struct alert *alert)
{
    struct soak_jvm *jvm = watched->owner;
    trial_alert(jvm->trial, alert);
    soak_say(run, "pid %d: %s %s: %s", (int)watcher_target(watched->watcher)->pid,
             alert->state == ALERT_RAISED ? severity_name(alert->finding.severity) : "over:",
             finding_row(alert->finding.kind)->id, alert->finding.title);
}

static void on_event(void *context, struct watched *watched, const struct event *event,
                     const struct alerts *alerts)
{
    struct soak_run *run = context;
    struct soak_jvm *jvm = watched->owner;
    struct judge_view view;
    judge_view(watcher_judge(watched->watcher), &view);
    trial_event(jvm->trial, event, &view);
    if (event->kind == EVENT_NOTE)
        soak_say(run, "pid %d: %s", (int)watcher_target(watched->watcher)->pid, event->text);
    for (int i = 0; i < alerts->count; i++)
        take_alert(run, watched, &alerts->alert[i]);
}

void soak_jvm_open(struct soak_run *run)
{
    const struct watching_sink sink = {
        .context = run, .event = on_event, .record_failed = on_record_failed};
    watching_open(&run->watching, &run->options->watch, &sink);
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

static void open_recorder(struct soak_run *run, struct soak_jvm *jvm)
{
    char error[512] = "--record: the name is too long";
    const struct soak_run_options *options = run->options;
    if (options->record == NULL || strcmp(options->record, "-") == 0 ||
        (record_path(options->record, watcher_target(jvm->watched->watcher)->pid,
                     run->jvm_count == 0, jvm->recording, sizeof jvm->recording) &&
         watched_record(jvm->watched, jvm->recording, options->record_force, error, sizeof error)))
        return;
    soak_say(run, "%s; judging goes on", error);
    jvm->recording[0] = '\0';
}

/* A JVM that came and went before it was warm gives its place to another one. */
static bool make_room(struct soak_run *run)
{
    if (run->jvm_count < SOAK_JVMS_MAX)
        return true;
    for (int i = 0; i < run->jvm_count; i++) {
        struct soak_jvm *jvm = &run->jvms[i];
        if (!watcher_ended(jvm->watched->watcher) || trial_baseline_ms(jvm->trial) >= 0 ||
            trial_has_failed(jvm->trial))
            continue;
        watching_remove(jvm->watched);
        trial_destroy(jvm->trial);
        *jvm = run->jvms[--run->jvm_count];
        jvm->watched->owner = jvm;
        run->jvms_missed++;
        return true;
    }
    return false;
}

/* Takes the target over. */
bool soak_jvm_add(struct soak_run *run, struct target *target)
{
    if (!make_room(run)) {
        run->jvms_missed++;
        target_close(target);
        return false;
    }
    identify_target(target, run->options->watch.timeout_ms);
    run->watching.now_ms = clock_ms(CLOCK_BOOTTIME);
    run->now_ms = run->watching.now_ms - run->start_ms;
    struct soak_jvm *jvm = &run->jvms[run->jvm_count];
    memset(jvm, 0, sizeof *jvm);
    jvm->trial = trial_create(&target->identity, &run->options->budgets);
    jvm->watched = jvm->trial == NULL
                       ? NULL
                       : watching_add(&run->watching, target, run->watching.now_ms, 0, jvm);
    if (jvm->watched == NULL) {
        snprintf(run->failure, sizeof run->failure, "pid %d cannot be watched: %s",
                 (int)target->pid, strerror(errno));
        trial_destroy(jvm->trial);
        run->jvms_missed++;
        return false;
    }
    open_recorder(run, jvm);
    run->jvm_count++;
    if (isatty(STDERR_FILENO))
        soak_say(run, "pid %d is a JVM: %s, JDK %s", (int)target->pid, target->identity.main,
                 target->identity.jdk);
    return true;
}
