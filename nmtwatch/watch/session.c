#include "nmtwatch/watch/session.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/alert/notify.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/tell.h"
#include "nmtwatch/jvm/discover.h"
#include "nmtwatch/record/writer.h"
#include "nmtwatch/watch/identify.h"
#include "nmtwatch/watch/stop_profiler.h"
#include "nmtwatch/watch/watch_cost.h"
#include "nmtwatch/watch/watch_output.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DISCOVER_MS 10000
#define TABLE_MS    1000

struct entry {
    struct watcher *watcher;
    struct recorder *recorder;
    bool recorder_told;
    bool stop_wanted; /* the profiler is to be stopped; once */
    bool stop_asked;
    struct stop_profiler *stop; /* while that is under way */
};

struct session {
    struct session_options *options;
    struct watch_output output;
    struct notifier *notifier;
    struct json_out json;
    int count, capacity;
    struct entry *entries;
    struct watcher **watchers; /* the same, as the output wants them */
    struct watch_cost cost;
    int64_t start_ms;
    int64_t now_ms;
    bool record_failed;
};

/* --- sinks ------------------------------------------------------------------------------------ */

static struct entry *entry_of(struct session *session, const struct watcher *watcher)
{
    for (int i = 0; i < session->count; i++) {
        if (session->entries[i].watcher == watcher)
            return &session->entries[i];
    }
    return NULL;
}

static void check_recorder(struct session *session, struct entry *entry)
{
    if (entry->recorder == NULL || entry->recorder_told || recorder_error(entry->recorder) == NULL)
        return;
    entry->recorder_told = true;
    session->record_failed = true;
    watch_output_say(&session->output, recorder_error(entry->recorder));
}

static void take_alert(struct session *session, struct entry *entry, struct watcher *watcher,
                       const struct alert *alert)
{
    watch_output_alert(&session->output, watcher, alert);
    if (entry != NULL && session->options->stop_profiler && alert->state == ALERT_RAISED &&
        alert->finding.kind == FINDING_INTERNAL_UNACCEPTABLE)
        entry->stop_wanted = true;
    if (entry != NULL && entry->recorder != NULL) {
        recorder_alert(entry->recorder, alert);
        check_recorder(session, entry);
    }
    if (session->notifier != NULL) {
        const char *line =
            event_json_alert(&session->json, watcher_target(watcher)->identity.pid, alert);
        if (line != NULL)
            notifier_send(session->notifier, alert, line, session->json.length, session->now_ms);
    }
}

static void on_event(void *context, struct watcher *watcher, const struct event *event,
                     const struct alerts *alerts)
{
    struct session *session = context;
    struct entry *entry = entry_of(session, watcher);
    watch_cost_event(&session->cost, event);
    watch_output_event(&session->output, watcher, event);
    if (entry != NULL && entry->recorder != NULL) {
        recorder_event(entry->recorder, event);
        check_recorder(session, entry);
    }
    for (int i = 0; i < alerts->count; i++)
        take_alert(session, entry, watcher, &alerts->alert[i]);
}

/* --- targets ---------------------------------------------------------------------------------- */

static bool open_recorder(struct session *session, struct entry *entry, const struct target *target)
{
    char path[4096], error[512];
    struct recording_header header = {.wall_start_ms = clock_ms(CLOCK_REALTIME) - session->now_ms,
                                      .warmup_s = session->options->watch.warmup_s,
                                      .target = target->identity,
                                      .thresholds = session->options->watch.thresholds};
    bool fits = pid_path(session->options->record, target->pid, path, sizeof path);
    if (!fits)
        snprintf(error, sizeof error, "--record: the name is too long");
    entry->recorder =
        !fits ? NULL
              : recorder_create(path, session->options->record_force, &header, error, sizeof error);
    if (entry->recorder != NULL)
        return true;
    watch_output_say(&session->output, error);
    return false;
}

static bool grow(struct session *session)
{
    if (session->count < session->capacity)
        return true;
    int capacity = session->capacity == 0 ? 8 : session->capacity * 2;
    struct entry *entries = realloc(session->entries, (size_t)capacity * sizeof *entries);
    if (entries == NULL)
        return false;
    session->entries = entries;
    struct watcher **watchers = realloc(session->watchers, (size_t)capacity * sizeof(void *));
    if (watchers == NULL)
        return false;
    session->watchers = watchers;
    session->capacity = capacity;
    return true;
}

/* Says why; returns the exit code. */
static int cannot_watch(struct session *session, const struct target *target, int error)
{
    bool gone = error == ENOENT || error == ESRCH;
    enum failure_kind kind = gone ? FAILURE_GONE : FAILURE_SYSTEM;
    struct failure failure;
    char who[32];
    snprintf(who, sizeof who, "pid %d", (int)target->pid);
    failure_set(&failure, kind, who, gone ? NULL : strerror(error));
    watch_output_say(&session->output, failure.sentence);
    return failure_exit_code(kind);
}

/* 0, or an exit code: the recording cannot be written, or the target not be watched. */
static int add_target(struct session *session, struct target *target)
{
    struct entry entry = {0};
    if (!grow(session))
        return cannot_watch(session, target, ENOMEM);
    identify_target(target, session->options->watch.timeout_ms);
    if (session->options->record != NULL && !open_recorder(session, &entry, target))
        return EXIT_IO;
    const struct watch_sink sink = {on_event, session};
    entry.watcher = watcher_create(target, &session->options->watch, &sink, session->now_ms);
    if (entry.watcher == NULL) {
        int error = errno;
        recorder_destroy(entry.recorder);
        return cannot_watch(session, target, error);
    }
    session->watchers[session->count] = entry.watcher;
    session->entries[session->count++] = entry;
    return 0;
}

static bool is_watched(const struct session *session, const struct target *target)
{
    for (int i = 0; i < session->count; i++) {
        const struct target *known = watcher_target(session->entries[i].watcher);
        if (known->pid == target->pid && known->start_time_ticks == target->start_time_ticks)
            return true;
    }
    return false;
}

static void discover_more(struct session *session)
{
    struct discovery discovery;
    if (discover_jvms(&discovery) != 0)
        return;
    for (int i = 0; i < discovery.count; i++) {
        if (!is_watched(session, &discovery.targets[i]))
            add_target(session, &discovery.targets[i]);
    }
    discovery_free(&discovery);
}

/* --- the last resort -------------------------------------------------------------------------- */

struct told {
    struct session *session;
    struct watcher *watcher;
};

static void tell_stop(void *context, const char *sentence)
{
    const struct told *told = context;
    watcher_tell(told->watcher, sentence, told->session->now_ms);
}

/* True while one of them is under way. */
static bool step_stops(struct session *session)
{
    bool busy = false;
    for (int i = 0; i < session->count; i++) {
        struct entry *entry = &session->entries[i];
        struct told told = {session, entry->watcher};
        if (entry->stop_wanted && !entry->stop_asked) {
            entry->stop_asked = true;
            entry->stop = stop_profiler_begin(watcher_target(entry->watcher), session->now_ms);
            if (entry->stop == NULL)
                tell_stop(&told, "the profiler could not be told to stop: no child process");
        }
        if (entry->stop != NULL &&
            stop_profiler_step(entry->stop, session->now_ms, tell_stop, &told)) {
            stop_profiler_destroy(entry->stop);
            entry->stop = NULL;
        }
        busy = busy || entry->stop != NULL;
    }
    return busy;
}

/* --- the loop --------------------------------------------------------------------------------- */

static bool all_ended(const struct session *session)
{
    for (int i = 0; i < session->count; i++) {
        if (!watcher_ended(session->entries[i].watcher))
            return false;
    }
    return true;
}

/* Waits until something is ready or due, and steps whoever it concerns. */
static void turn(struct session *session, int64_t at_most_ms)
{
    struct pollfd *fds = calloc((size_t)session->count + 1, sizeof *fds);
    if (fds == NULL) {
        poll(NULL, 0, 10);
        return;
    }
    int64_t wait_ms = at_most_ms;
    for (int i = 0; i < session->count; i++) {
        const struct watcher *watcher = session->entries[i].watcher;
        fds[i].fd = watcher_ended(watcher) ? -1 : watcher_fd(watcher, &fds[i].events);
        if (watcher_ended(watcher))
            continue;
        int64_t needs_ms = watcher_wait_ms(watcher, session->now_ms);
        if (needs_ms < wait_ms)
            wait_ms = needs_ms;
    }
    if (wait_ms > 0 || session->count == 0)
        poll(fds, (nfds_t)session->count, (int)(wait_ms > 0 ? wait_ms : 100));
    else
        poll(fds, (nfds_t)session->count, 0);
    free(fds);
    session->now_ms = clock_ms(CLOCK_BOOTTIME) - session->start_ms;
    for (int i = 0; i < session->count; i++)
        watcher_step(session->entries[i].watcher, session->now_ms);
}

static void stop_all(struct session *session)
{
    int64_t until_ms = session->now_ms + WATCH_STOP_MS;
    for (int i = 0; i < session->count; i++)
        watcher_stop(session->entries[i].watcher, session->now_ms);
    while ((!all_ended(session) || step_stops(session)) && session->now_ms < until_ms)
        turn(session, 100);
}

static void loop(struct session *session)
{
    const struct session_options *options = session->options;
    int64_t next_discover_ms = DISCOVER_MS, next_table_ms = 0;
    while (signals_asked() == 0) {
        int64_t wait_ms = options->for_ms > 0 ? options->for_ms - session->now_ms : 3600000;
        if (wait_ms <= 0 || (all_ended(session) && !options->all))
            break;
        if (options->all && wait_ms > next_discover_ms - session->now_ms)
            wait_ms = next_discover_ms - session->now_ms;
        if (options->output == SESSION_TABLE && wait_ms > TABLE_MS)
            wait_ms = TABLE_MS;
        turn(session, wait_ms > 0 ? wait_ms : 0);
        step_stops(session);
        if (ferror(stdout) || (session->record_failed && strcmp(options->record, "-") == 0))
            break; /* nobody reads any more, or the disk is full: main tells which */
        if (session->notifier != NULL)
            notifier_step(session->notifier, session->now_ms);
        if (options->all && session->now_ms >= next_discover_ms) {
            discover_more(session);
            next_discover_ms = session->now_ms + DISCOVER_MS;
        }
        if (options->output == SESSION_TABLE && session->now_ms >= next_table_ms) {
            watch_output_table(&session->output, session->watchers, session->count,
                               session->now_ms);
            next_table_ms = session->now_ms + TABLE_MS;
        }
    }
    stop_all(session);
}

static void finish_cost(struct session *session)
{
    watch_cost_process(&session->cost);
    for (int i = 0; i < session->count; i++)
        watch_cost_watcher(&session->cost, session->entries[i].watcher);
}

/* The worst alert decides; without one, a JVM that was never reached does. */
static int exit_code(const struct session *session)
{
    int code = 0;
    for (int i = 0; i < session->count; i++) {
        struct judge_view view;
        judge_view(watcher_judge(session->entries[i].watcher), &view);
        if ((int)view.worst_ever > code)
            code = (int)view.worst_ever; /* WARNING 1, CRITICAL 2 */
    }
    if (code > 0)
        return code;
    for (int i = 0; i < session->count; i++) {
        struct watcher_counts counts = watcher_counts(session->entries[i].watcher);
        if (counts.questions == 0 && counts.last_failure != FAILURE_NONE)
            return failure_exit_code(counts.last_failure);
        if (counts.polls == 0)
            return failure_exit_code(FAILURE_GONE);
    }
    return session->record_failed ? EXIT_IO : 0;
}

static void close_all(struct session *session)
{
    for (int i = 0; i < session->count; i++) {
        struct entry *entry = &session->entries[i];
        if (entry->recorder != NULL) {
            recorder_end(entry->recorder, session->now_ms, &session->cost);
            check_recorder(session, entry);
            recorder_destroy(entry->recorder);
        }
        stop_profiler_destroy(entry->stop);
        watcher_destroy(entry->watcher);
    }
    free(session->entries);
    free(session->watchers);
    json_out_free(&session->json);
}

int session_run(struct session_options *options)
{
    struct session session = {.options = options, .start_ms = clock_ms(CLOCK_BOOTTIME)};
    signals_catch(SIGNALS_END);
    watch_output_begin(&session.output, options->output, options->colour);
    if (options->notify != NULL)
        session.notifier = notifier_create(options->notify);
    int code = 0;
    for (int i = 0; i < options->target_count && code == 0; i++) {
        session.now_ms = clock_ms(CLOCK_BOOTTIME) - session.start_ms;
        if (!is_watched(&session, &options->targets[i])) /* the same pid may be given twice */
            code = add_target(&session, &options->targets[i]);
    }
    if (code == 0) {
        loop(&session);
        code = exit_code(&session);
    }
    finish_cost(&session);
    watch_output_end(&session.output, session.now_ms, &session.cost);
    struct notifier_counts notified;
    if (session.notifier != NULL) {
        char text[256];
        notifier_destroy(session.notifier, &notified);
        if (notified.failed > 0) {
            snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " notifications failed: %s",
                     notified.failed, notified.sent, notified.last_failure);
            watch_output_say(&session.output, text);
        }
    }
    close_all(&session);
    return code;
}
