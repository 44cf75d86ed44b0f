#include "nmtwatch/watch/session.h"

#include "nmtwatch/alert/notify.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/messages.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* --- watch output ----------------------------------------------------------------------------- */

/* The live table, plain lines, or JSON lines. */
struct watch_output {
    enum session_output kind;
    struct terminal terminal;
    struct json_out json;
    int table_lines; /* of the table on the screen now */
};

static int columns(void)
{
    struct winsize window;
    if (isatty(1) && ioctl(1, TIOCGWINSZ, &window) == 0)
        return window.ws_col;
    return 0;
}

static void watch_output_begin(struct watch_output *output, enum session_output kind, bool colour)
{
    memset(output, 0, sizeof *output);
    output->kind = kind;
    output->terminal = (struct terminal){.out = stdout, .colour = colour, .width = columns()};
}

/* Anything that is printed above the live table takes the table off the screen first. */
static void clear_table(struct watch_output *output)
{
    if (output->table_lines > 0)
        terminal_rewind(&output->terminal, output->table_lines);
    output->table_lines = 0;
}

static void put_json(struct watch_output *output, const char *line)
{
    if (line == NULL)
        return;
    fwrite(line, 1, output->json.length, stdout);
    fflush(stdout);
}

static void watch_output_event(struct watch_output *output, const struct watcher *watcher,
                               const struct event *event)
{
    const struct target_identity *target = &watcher_target(watcher)->identity;
    if (output->kind == SESSION_JSON) {
        struct judge_view view;
        judge_view(watcher_judge(watcher), &view);
        put_json(output, event_json_event(&output->json, target->pid, event, &view));
        return;
    }
    switch (event->kind) {
    case EVENT_SAMPLE:
        /* A line a tick: what a reply brought in between is in the next one. */
        if (output->kind == SESSION_LINES && !sample_has_nmt(&event->sample) &&
            !sample_has(&event->sample, SAMPLE_METASPACE_USED_BYTES)) {
            struct judge_view view;
            judge_view(watcher_judge(watcher), &view);
            terminal_tick(&output->terminal, target, event->ms, watcher_latest(watcher), &view);
        }
        break;
    case EVENT_NAMES:
        if (event->names.last && event->names.row_count > 0) {
            clear_table(output);
            terminal_names(&output->terminal, &event->names, 5);
        }
        break;
    case EVENT_HISTOGRAM:
        clear_table(output);
        terminal_histogram(&output->terminal, &event->histogram, 5);
        break;
    case EVENT_METHODS:
        clear_table(output);
        terminal_methods(&output->terminal, &event->methods, 3);
        break;
    case EVENT_COST:
        clear_table(output);
        if (event->cost.measured_us < 0)
            printf("%s skipped: it %s\n", escape_name(event->cost.command).text,
                   escape_name(event->cost.skipped).text);
        else
            printf("%s took %s (predicted %s)\n", escape_name(event->cost.command).text,
                   units_microseconds(event->cost.measured_us).text,
                   units_microseconds(event->cost.predicted_us).text);
        break;
    case EVENT_NOTE:
    case EVENT_BASELINE:
    case EVENT_GONE:
        clear_table(output);
        terminal_note(&output->terminal, target, event->ms, event->text);
        break;
    case EVENT_CALLERS:
        if (event->callers.last) {
            clear_table(output);
            terminal_callers(&output->terminal, &event->callers, 5);
        }
        break;
    case EVENT_LOADERS:
    case EVENT_KIND_COUNT:
        break;
    }
    if (output->kind != SESSION_TABLE)
        fflush(stdout);
}

static void watch_output_alert(struct watch_output *output, const struct watcher *watcher,
                               const struct alert *alert)
{
    const struct target_identity *target = &watcher_target(watcher)->identity;
    if (output->kind == SESSION_JSON) {
        put_json(output, event_json_alert(&output->json, target->pid, alert));
        return;
    }
    clear_table(output);
    terminal_alert(&output->terminal, target, alert);
    fflush(stdout);
}

/* Draws the table again; nothing in the other kinds. */
static void watch_output_table(struct watch_output *output, const struct watching *watching,
                               int64_t now_ms)
{
    if (output->kind != SESSION_TABLE)
        return;
    clear_table(output);
    output->terminal.width = columns();
    terminal_table_head(&output->terminal);
    output->table_lines = 1;
    for (int i = 0; i < watching->count; i++) {
        const struct watcher *watcher = watching->jvms[i]->watcher;
        struct judge_view view;
        if (watcher_ended(watcher))
            continue;
        judge_view(watcher_judge(watcher), &view);
        terminal_table_row(&output->terminal, &watcher_target(watcher)->identity, now_ms,
                           watcher_latest(watcher), &view);
        output->table_lines += 1 + terminal_table_agent(&output->terminal, watcher_latest(watcher));
    }
    fflush(stdout);
}

/* A line about the session itself, on stderr. */
static void watch_output_say(struct watch_output *output, const char *text)
{
    if (output->kind == SESSION_TABLE) {
        clear_table(output);
        fflush(stdout);
    }
    print_error("nmtwatch: %s\n", text);
}

static void watch_output_end(struct watch_output *output, int64_t ms, const struct watch_cost *cost)
{
    if (output->kind == SESSION_JSON) {
        put_json(output, event_json_end(&output->json, ms, cost));
    } else {
        if (ms > 0)
            printf("watched for %s; cost here: %s of CPU (%.3f %% of a core), %s; in the JVMs: at "
                   "most "
                   "%s of pause\n",
                   units_duration(ms).text, units_duration(cost->cpu_ms).text,
                   (double)cost->cpu_ms * 100.0 / (double)ms, units_bytes(cost->rss_bytes).text,
                   units_microseconds(cost->pause_us).text);
        for (int i = 0; i < cost->command_count; i++) {
            if (cost->commands[i].runs > 0)
                printf("  %s: %lld times, %s\n", cost->commands[i].command,
                       (long long)cost->commands[i].runs,
                       units_microseconds(cost->commands[i].measured_us).text);
            if (cost->commands[i].skipped > 0)
                printf("  %s: skipped %lld times, for its pause\n", cost->commands[i].command,
                       (long long)cost->commands[i].skipped);
        }
        fflush(stdout);
    }
    json_out_free(&output->json);
}

#define DISCOVER_MS 10000
#define TABLE_MS    1000

/* What a session keeps of a JVM: the last resort. */
struct entry {
    bool stop_wanted; /* the profiler is to be stopped; once */
    bool stop_asked;
    struct stop_profiler *stop; /* while that is under way */
};

struct session {
    struct session_options *options;
    struct watching watching;
    struct watch_output output;
    struct notifier *notifier;
    struct json_out json;
    int64_t start_ms; /* the loop's time: all its JVMs begin there */
    bool record_failed;
};

static int64_t session_ms(const struct session *session)
{
    return session->watching.now_ms - session->start_ms;
}

/* --- the sink --------------------------------------------------------------------------------- */

static void on_record_failed(void *context, struct watched *jvm, const char *sentence)
{
    struct session *session = context;
    (void)jvm;
    session->record_failed = true;
    watch_output_say(&session->output, sentence);
}

static void take_alert(struct session *session, const struct watched *jvm,
                       const struct alert *alert)
{
    struct entry *entry = jvm->owner;
    watch_output_alert(&session->output, jvm->watcher, alert);
    if (session->options->stop_profiler && alert->state == ALERT_RAISED &&
        alert->finding.kind == FINDING_INTERNAL_UNACCEPTABLE)
        entry->stop_wanted = true;
    if (session->notifier != NULL) {
        const char *line =
            event_json_alert(&session->json, watcher_target(jvm->watcher)->identity.pid, alert);
        if (line != NULL)
            notifier_send(session->notifier, alert, line, session->json.length,
                          session_ms(session));
    }
}

static void on_event(void *context, struct watched *jvm, const struct event *event,
                     const struct alerts *alerts)
{
    struct session *session = context;
    watch_output_event(&session->output, jvm->watcher, event);
    for (int i = 0; i < alerts->count; i++)
        take_alert(session, jvm, &alerts->alert[i]);
}

/* --- targets ---------------------------------------------------------------------------------- */

/* Says why; returns the exit code. */
static int cannot_watch(struct session *session, pid_t pid, int error)
{
    bool gone = error == ENOENT || error == ESRCH;
    enum failure_kind kind = gone ? FAILURE_GONE : FAILURE_SYSTEM;
    struct failure failure;
    char who[32];
    snprintf(who, sizeof who, "pid %d", (int)pid);
    failure_set(&failure, kind, who, gone ? NULL : strerror(error));
    watch_output_say(&session->output, failure.sentence);
    return failure_exit_code(kind);
}

static bool begin_recording(struct session *session, struct watched *jvm)
{
    const char *pattern = session->options->record;
    char path[4096], error[512] = "--record: the name is too long";
    if (pattern == NULL ||
        (pid_path(pattern, watcher_target(jvm->watcher)->pid, path, sizeof path) &&
         watched_record(jvm, path, session->options->record_force, error, sizeof error)))
        return true;
    watch_output_say(&session->output, error);
    return false;
}

/* 0, or an exit code: the recording cannot be written, or the target not be watched. */
static int add_target(struct session *session, struct target *target)
{
    pid_t pid = target->pid;
    identify_target(target, session->options->watch.timeout_ms);
    session->watching.now_ms = clock_ms(CLOCK_BOOTTIME);
    struct entry *entry = calloc(1, sizeof *entry);
    struct watched *jvm =
        entry != NULL ? watching_add(&session->watching, target, session->start_ms, 0, entry)
                      : NULL;
    if (jvm == NULL) {
        int error = errno;
        free(entry);
        return cannot_watch(session, pid, error);
    }
    if (begin_recording(session, jvm))
        return 0;
    watching_remove(jvm);
    free(entry);
    return EXIT_IO;
}

static void discover_more(struct session *session)
{
    struct discovery discovery;
    if (discover_jvms(&discovery) != 0)
        return;
    for (int i = 0; i < discovery.count; i++)
        if (!watching_knows(&session->watching, &discovery.targets[i]))
            add_target(session, &discovery.targets[i]);
    discovery_free(&discovery);
}

/* --- the last resort -------------------------------------------------------------------------- */

static void report_stop(void *context, const char *sentence)
{
    const struct watched *jvm = context;
    watcher_add_note(jvm->watcher, sentence, watched_ms(jvm));
}

/* True while one of them is under way. */
static bool step_stops(void *context)
{
    struct session *session = context;
    int64_t now_ms = session_ms(session);
    bool busy = false;
    for (int i = 0; i < session->watching.count; i++) {
        struct watched *jvm = session->watching.jvms[i];
        struct entry *entry = jvm->owner;
        if (entry->stop_wanted && !entry->stop_asked) {
            entry->stop_asked = true;
            entry->stop = stop_profiler_begin(watcher_target(jvm->watcher), now_ms);
            if (entry->stop == NULL)
                report_stop(jvm, "the profiler was not stopped: no child process could be started");
        }
        if (entry->stop != NULL && stop_profiler_step(entry->stop, now_ms, report_stop, jvm)) {
            stop_profiler_destroy(entry->stop);
            entry->stop = NULL;
        }
        busy = busy || entry->stop != NULL;
    }
    return busy;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void loop(struct session *session)
{
    const struct session_options *options = session->options;
    int64_t next_discover_ms = DISCOVER_MS, next_table_ms = 0;
    while (signals_asked() == 0) {
        int64_t now_ms = session_ms(session);
        int64_t wait_ms = options->for_ms > 0 ? options->for_ms - now_ms : 3600000;
        if (wait_ms <= 0 || (watching_all_ended(&session->watching) && !options->all))
            break;
        if (options->all && wait_ms > next_discover_ms - now_ms)
            wait_ms = next_discover_ms - now_ms;
        if (options->output == SESSION_TABLE && wait_ms > TABLE_MS)
            wait_ms = TABLE_MS;
        watching_turn(&session->watching, wait_ms, NULL, 0);
        now_ms = session_ms(session);
        step_stops(session);
        if (ferror(stdout) || (session->record_failed && strcmp(options->record, "-") == 0))
            break; /* the reader has gone, or the disk is full: main says which */
        if (session->notifier != NULL)
            notifier_step(session->notifier, now_ms);
        if (options->all && now_ms >= next_discover_ms) {
            discover_more(session);
            next_discover_ms = now_ms + DISCOVER_MS;
        }
        if (options->output == SESSION_TABLE && now_ms >= next_table_ms) {
            watch_output_table(&session->output, &session->watching, now_ms);
            next_table_ms = now_ms + TABLE_MS;
        }
    }
    watching_stop(&session->watching);
}

/* The worst alert decides; without one, a JVM that was never reached does. */
static int exit_code(const struct session *session)
{
    int code = 0;
    for (int i = 0; i < session->watching.count; i++) {
        struct judge_view view;
        judge_view(watcher_judge(session->watching.jvms[i]->watcher), &view);
        if ((int)view.worst_ever > code)
            code = (int)view.worst_ever; /* WARNING 1, CRITICAL 2 */
    }
    if (code > 0)
        return code;
    for (int i = 0; i < session->watching.count; i++) {
        struct watcher_counts counts = watcher_counts(session->watching.jvms[i]->watcher);
        if (counts.questions == 0 && counts.last_failure != FAILURE_NONE)
            return failure_exit_code(counts.last_failure);
        if (counts.polls == 0)
            return failure_exit_code(FAILURE_GONE);
    }
    return session->record_failed ? EXIT_IO : 0;
}

static void close_all(struct session *session)
{
    for (int i = 0; i < session->watching.count; i++) {
        struct entry *entry = session->watching.jvms[i]->owner;
        stop_profiler_destroy(entry->stop);
        free(entry);
    }
    watching_close(&session->watching);
    json_out_free(&session->json);
}

int session_run(struct session_options *options)
{
    struct session session = {.options = options};
    const struct watching_sink sink = {.context = &session,
                                       .event = on_event,
                                       .record_failed = on_record_failed,
                                       .busy = step_stops};
    watching_open(&session.watching, &options->watch, &sink);
    session.start_ms = session.watching.now_ms;
    signals_catch(SIGNALS_END);
    watch_output_begin(&session.output, options->output, options->colour);
    if (options->notify != NULL)
        session.notifier = notifier_create(options->notify);
    int code = 0;
    for (int i = 0; i < options->target_count && code == 0; i++) {
        /* The same pid may be given twice. */
        if (!watching_knows(&session.watching, &options->targets[i]))
            code = add_target(&session, &options->targets[i]);
    }
    if (code == 0) {
        loop(&session);
        code = exit_code(&session);
    }
    struct watch_cost cost = watching_cost(&session.watching);
    watch_output_end(&session.output, session_ms(&session), &cost);
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
