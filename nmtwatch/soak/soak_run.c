#include "nmtwatch/soak/soak_run.h"

#include "analyzers/native/internal.h"
#include "nmtwatch/process/clock.h"
#include "nmtwatch/process/files.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/messages.h"
#include "reports/text/escape.h"
#include "reports/text/units.h"
#include "nmtwatch/record/recording.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* --- soak jvm --------------------------------------------------------------------------------- */

#define PROGRESS_MS 10000

/* --- words during the run --------------------------------------------------------------------- */

/* "nmtwatch soak: 0:01:23 text", escaped. */
static __attribute__((format(printf, 2, 3))) void soak_say(const struct soak_run *run,
                                                           const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("nmtwatch soak: %s %s\n", units_clock(run->now_ms).text, escape_name(text).text);
}

/* On a terminal, now and then. */
static void soak_progress(struct soak_run *run)
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
    soak_say(context, "%s; the soak continues", sentence);
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

/* Where events go: trial, words, and the recording. */
static void soak_jvm_open(struct soak_run *run)
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
    soak_say(run, "%s; the soak continues", error);
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
static bool soak_jvm_add(struct soak_run *run, struct target *target)
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

#define SCAN_EARLY_MS 250 /* until there is a JVM: its first seconds are worth seeing */
#define SCAN_MS       1000
#define GRACE_MS      10000 /* from one signal to a harder one */
#define YOUNG_MS      5000

/* --- JVMs of the command ---------------------------------------------------------------------- */

/* Without its signal handlers it cannot be attached to: that takes a JVM some 50 ms. */
static bool is_too_young(const struct target *target)
{
    return target->identity.uptime_ms < YOUNG_MS && !target_state_now(target).handles_sigquit;
}

/* Reaps the command and looks for JVMs among what it has started. */
static void scan(struct soak_run *run, struct descendants *family)
{
    child_step(&run->child, family);
    for (int i = 0; i < family->count; i++) {
        struct target target;
        struct failure failure;
        if (target_open(&target, family->pid[i], &failure) != FAILURE_NONE)
            continue;
        if (!target.libjvm_mapped || watching_knows(&run->watching, &target) ||
            is_too_young(&target))
            target_close(&target);
        else
            soak_jvm_add(run, &target);
    }
    run->next_scan_ms = run->now_ms + (run->jvm_count == 0 ? SCAN_EARLY_MS : SCAN_MS);
}

static void pass_signals(const struct child *child)
{
    for (int number; (number = signals_to_pass()) != 0;)
        if (child->pid > 0)
            child_signal(child, number);
}

/* --- the loop --------------------------------------------------------------------------------- */

/* The JVM that the counter is about: the first one that lives. */
static pid_t counted_pid(const struct soak_run *run)
{
    for (int i = 0; i < run->jvm_count; i++) {
        const struct watcher *watcher = run->jvms[i].watched->watcher;
        if (!watcher_ended(watcher))
            return watcher_target(watcher)->pid;
    }
    return 0;
}

static void step_counter(struct soak_run *run)
{
    double value;
    if (run->counter == NULL || !counter_step(run->counter, counted_pid(run), run->now_ms, &value))
        return;
    for (int i = 0; i < run->jvm_count; i++) {
        const struct watched *jvm = run->jvms[i].watched;
        if (!watcher_ended(jvm->watcher))
            trial_counter(run->jvms[i].trial, watched_ms(jvm), value);
    }
}

static void turn(struct soak_run *run, int64_t wait_ms)
{
    struct pollfd counter = {.fd = -1, .events = POLLIN};
    if (run->counter != NULL) {
        int64_t needs_ms = counter_wait_ms(run->counter, run->now_ms);
        counter.fd = counter_fd(run->counter);
        if (needs_ms < wait_ms && counted_pid(run) != 0)
            wait_ms = needs_ms;
    }
    watching_turn(&run->watching, wait_ms, &counter, 1);
    run->now_ms = run->watching.now_ms - run->start_ms;
    step_counter(run);
}

/* Waits for the command, and all it has started or not; another signal shortens the patience. */
static bool wait_for_end(struct soak_run *run, bool all, int64_t grace_ms)
{
    struct descendants family;
    int asked = signals_asked();
    int64_t until_ms = clock_ms(CLOCK_BOOTTIME) + grace_ms;
    for (;;) {
        child_step(&run->child, &family);
        if (run->child.ended && (!all || family.count == 0))
            return true;
        if (clock_ms(CLOCK_BOOTTIME) >= until_ms || signals_asked() > asked)
            return false;
        poll(NULL, 0, 50);
        pass_signals(&run->child);
    }
}

static void end_command(struct soak_run *run)
{
    static const int harder[] = {SIGTERM, SIGKILL};
    struct descendants family;
    /* Asked by a signal, it has that signal already: it may end by itself, and end its own. */
    if (run->end == SOAK_END_SIGNAL)
        wait_for_end(run, false, GRACE_MS);
    for (size_t i = 0; i < sizeof harder / sizeof harder[0]; i++) {
        child_step(&run->child, &family);
        if (run->child.ended && family.count == 0)
            return;
        child_signal_all(&run->child, &family, harder[i]);
        if (wait_for_end(run, true, GRACE_MS))
            return;
    }
}

static bool is_certain(const struct soak_run *run)
{
    for (int i = 0; i < run->jvm_count; i++)
        if (trial_has_failed(run->jvms[i].trial))
            return true;
    return false;
}

/* True when the run is over; run->end says why. */
static bool is_over(struct soak_run *run, const struct descendants *family)
{
    bool command = run->child.pid > 0;
    if (signals_asked() > 0) {
        run->end = SOAK_END_SIGNAL;
        run->child.stopped_by_us = true; /* it has had the same signal */
    } else if (run->options->for_ms > 0 && run->now_ms >= run->options->for_ms) {
        run->end = SOAK_END_TIME;
    } else if (command && run->child.ended && (run->options->for_ms == 0 || family->count == 0)) {
        /* Given a time, a script may leave a server behind; else that is a build's daemon. */
        run->end = SOAK_END_COMMAND;
    } else if (!command && watching_all_ended(&run->watching)) {
        run->end = SOAK_END_GONE;
    } else if (run->options->fail_fast && is_certain(run)) {
        run->end = SOAK_END_FAILED;
    } else {
        return false;
    }
    return true;
}

void soak_run_loop(struct soak_run *run)
{
    struct descendants family = {.count = 1};
    while (!is_over(run, &family)) {
        int64_t wait_ms = SCAN_MS;
        if (run->options->for_ms > 0 && run->options->for_ms - run->now_ms < wait_ms)
            wait_ms = run->options->for_ms - run->now_ms;
        if (run->child.pid > 0 && run->next_scan_ms - run->now_ms < wait_ms)
            wait_ms = run->next_scan_ms - run->now_ms;
        turn(run, wait_ms);
        pass_signals(&run->child);
        if (run->child.pid > 0 && run->now_ms >= run->next_scan_ms)
            scan(run, &family);
        soak_progress(run);
    }
    pass_signals(&run->child);
    watching_stop(&run->watching);
    run->now_ms = run->watching.now_ms - run->start_ms;
    if (run->child.pid > 0)
        end_command(run);
    for (int i = 0; i < run->jvm_count; i++)
        watched_end_recording(run->jvms[i].watched);
}

int soak_run_create(struct soak_run *run, const struct soak_run_options *options)
{
    char error[640];
    memset(run, 0, sizeof *run);
    run->options = options;
    soak_jvm_open(run);
    run->start_ms = run->watching.now_ms;
    run->wall_start_ms = clock_ms(CLOCK_REALTIME);
    signals_catch(options->command != NULL ? SIGNALS_COMMAND : SIGNALS_END);
    if (options->per != NULL)
        run->counter = counter_create(options->per, options->per_interval_ms);
    if (options->command == NULL) {
        soak_jvm_add(run, options->target);
        return 0;
    }
    int code = child_start(&run->child, options->command, options->nmt, error, sizeof error);
    if (code != 0)
        print_error("nmtwatch soak: %s\n", error);
    return code;
}

void soak_run_destroy(struct soak_run *run)
{
    watching_close(&run->watching);
    for (int i = 0; i < run->jvm_count; i++)
        trial_destroy(run->jvms[i].trial);
    counter_destroy(run->counter);
}

/* --- soak outcome ---------------------------------------------------------------------------- */

/* --- recorded trial --------------------------------------------------------------------------- */

static void feed(struct replay *replay, struct recorded_trial *recorded)
{
    struct judge_view view;
    while (replay_next(replay)) {
        for (int i = 0; i < replay->alerts.count; i++)
            trial_alert(recorded->trial, &replay->alerts.alert[i]);
        judge_view(replay->judge, &view);
        trial_event(recorded->trial, &replay->event, &view);
        if (replay->event.kind == EVENT_GONE)
            snprintf(recorded->gone, sizeof recorded->gone, "%s", replay->event.text);
    }
    if (recording_damage(replay->recording) != NULL)
        snprintf(recorded->damage, sizeof recorded->damage, "%s",
                 recording_damage(replay->recording));
}

bool recorded_trial_read(const char *path, const struct budgets *budgets,
                         struct recorded_trial *recorded, char *error, size_t error_size)
{
    struct replay replay;
    memset(recorded, 0, sizeof *recorded);
    if (!replay_open(&replay, path, error, error_size))
        return false;
    recorded->wall_start_ms = replay.header->wall_start_ms;
    recorded->trial = trial_create(&replay.header->target, budgets);
    if (recorded->trial != NULL)
        feed(&replay, recorded);
    else
        snprintf(error, error_size, "out of memory");
    replay_close(&replay);
    return recorded->trial != NULL;
}

static bool add_result(struct soak_outcome *outcome, const struct trial *trial,
                       const struct trial *reference, const char *recording)
{
    struct soak_result *result = malloc(sizeof *result);
    if (result == NULL)
        return false;
    trial_result(trial, reference, result);
    outcome->recordings[outcome->count] = recording;
    outcome->results[outcome->count++] = result;
    return true;
}

static int64_t judged_ms(const struct soak_result *result)
{
    return result->warm ? result->last_ms - result->baseline_ms : 0;
}

static bool speaks_before(const struct soak_result *a, const struct soak_result *b)
{
    bool a_fails = a->answer == SOAK_FAIL, b_fails = b->answer == SOAK_FAIL;
    if (a_fails != b_fails)
        return a_fails;
    if (judged_ms(a) != judged_ms(b))
        return judged_ms(a) > judged_ms(b);
    return a->last_ms > b->last_ms;
}

/* Chief and answer, once the results and the reason stand. */
static void sum_up(struct soak_outcome *outcome)
{
    struct soak_summary *summary = &outcome->summary;
    summary->count = outcome->count;
    summary->results = (const struct soak_result *const *)outcome->results;
    summary->recordings = outcome->recordings;
    summary->reason = outcome->reason;
    summary->death = outcome->death;
    summary->chief = -1;
    for (int i = 0; i < outcome->count; i++)
        if (summary->chief < 0 ||
            speaks_before(outcome->results[i], outcome->results[summary->chief]))
            summary->chief = i;
    summary->answer =
        summary->chief < 0 ? SOAK_UNDECIDED : outcome->results[summary->chief]->answer;
    if (summary->answer == SOAK_PASS && outcome->reason[0] != '\0')
        summary->answer = SOAK_UNDECIDED;
}

/* Why NMT had nothing to say of this JVM. */
static void explain_blindness(const struct soak_run *run, const struct soak_jvm *jvm, char *out,
                              size_t size)
{
    struct watcher_counts counts = watcher_counts(jvm->watched->watcher);
    struct failure failure;
    char who[32];
    const struct target *target = watcher_target(jvm->watched->watcher);
    snprintf(who, sizeof who, "pid %d", (int)target->pid);
    enum failure_kind kind = counts.last_failure;
    if (counts.questions > 0 || kind == FAILURE_NONE)
        kind = FAILURE_NMT_OFF;
    if (kind == FAILURE_GONE) {
        snprintf(out, size, "%s ended before it could be asked", who);
        return;
    }
    failure_set(&failure, kind, who, NULL);
    snprintf(out, size, "%s%s", failure.sentence,
             kind == FAILURE_NMT_OFF && run->child.pid > 0 && !run->options->nmt
                 ? ", or let nmtwatch soak --nmt ask for it"
                 : "");
}

static void explain(struct soak_outcome *outcome, const struct soak_run *run)
{
    const struct soak_jvm *longest = NULL;
    const struct soak_result *result = NULL;
    for (int i = 0; i < outcome->count; i++) {
        if (result == NULL || speaks_before(outcome->results[i], result)) {
            result = outcome->results[i];
            longest = &run->jvms[i];
        }
    }
    if (result == NULL && run->failure[0] != '\0')
        snprintf(outcome->reason, sizeof outcome->reason, "%s", run->failure);
    else if (result == NULL)
        snprintf(outcome->reason, sizeof outcome->reason, "no JVM was found%s%s",
                 run->child.pid > 0 ? " among what the command started; " : "", outcome->death);
    else if (child_failed(&run->child))
        snprintf(outcome->reason, sizeof outcome->reason, "%s", outcome->death);
    else if (!result->have_nmt)
        explain_blindness(run, longest, outcome->reason, sizeof outcome->reason);
    else if (run->end == SOAK_END_GONE)
        snprintf(outcome->reason, sizeof outcome->reason, "pid %lld ended after %s",
                 (long long)result->identity.pid, units_duration(result->last_ms).text);
}

struct soak_outcome *soak_outcome_of_run(const struct soak_run *run, const struct trial *reference)
{
    struct soak_outcome *outcome = calloc(1, sizeof *outcome);
    if (outcome == NULL)
        return NULL;
    for (int i = 0; i < run->jvm_count; i++) {
        if (!add_result(outcome, run->jvms[i].trial, reference, run->jvms[i].recording)) {
            soak_outcome_destroy(outcome);
            return NULL;
        }
    }
    if (run->child.pid > 0)
        child_death(&run->child, outcome->death, sizeof outcome->death);
    outcome->summary.failed_command = child_failed(&run->child);
    outcome->summary.wall_start_ms = run->wall_start_ms;
    outcome->summary.duration_ms = run->now_ms;
    explain(outcome, run);
    sum_up(outcome);
    return outcome;
}

struct soak_outcome *soak_outcome_of_trial(const struct trial *trial, const char *path,
                                           const char *gone, const struct trial *reference)
{
    struct soak_outcome *outcome = calloc(1, sizeof *outcome);
    if (outcome == NULL || !add_result(outcome, trial, reference, path)) {
        free(outcome);
        return NULL;
    }
    snprintf(outcome->reason, sizeof outcome->reason, "%s", gone);
    outcome->summary.duration_ms = trial_last_ms(trial);
    sum_up(outcome);
    return outcome;
}

void soak_outcome_destroy(struct soak_outcome *outcome)
{
    if (outcome == NULL)
        return;
    for (int i = 0; i < outcome->count; i++)
        free(outcome->results[i]);
    free(outcome);
}

/* --- budget text ----------------------------------------------------------------------------- */

#define ITEM_MAX 96

static const struct {
    const char *name;
    double per_h;
} units[] = {{"s", 3600}, {"m", 60}, {"min", 60}, {"h", 1}, {"d", 1.0 / 24}, {"day", 1.0 / 24}};

static void list_keys(char *out, size_t size)
{
    size_t length = 0;
    char key[SOAK_KEY_MAX];
    for (int series = 0; series < SOAK_FIRST_CATEGORY && length < size; series++) {
        soak_series_key((enum soak_series)series, key);
        length += (size_t)snprintf(out + length, size - length, "%s, ", key);
    }
    if (length < size)
        snprintf(out + length, size - length,
                 "or an NMT category such as thread, other, java-heap");
}

/* "/h", "/iteration", or nothing; false when it is something else. */
static bool take_unit(char *amount, struct budget *budget, double *per_h)
{
    char *slash = strchr(amount, '/');
    *per_h = 1;
    if (slash == NULL)
        return true;
    *slash = '\0';
    if (strcmp(slash + 1, "iteration") == 0) {
        budget->kind = BUDGET_ITERATION;
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(slash + 1, units[i].name) == 0) {
            budget->kind = BUDGET_SLOPE;
            *per_h = units[i].per_h;
            return true;
        }
    }
    return false;
}

static bool parse_item(char *item, struct budget *budget, char *error, size_t error_size)
{
    char why[200], *equals = strchr(item, '=');
    if (equals == NULL || equals == item)
        return text_error(error, error_size, "'%s' is not KEY=AMOUNT, such as internal=5MB/h",
                          escape_name(item).text);
    budget->series = soak_series_from_key(span_of(item, (size_t)(equals - item)));
    if (budget->series == SOAK_SERIES_COUNT) {
        *equals = '\0';
        list_keys(why, sizeof why);
        return text_error(error, error_size, "there is no series '%s': %s", escape_name(item).text,
                          why);
    }
    snprintf(budget->text, sizeof budget->text, "%s", equals + 1);
    char *amount = equals + 1;
    bool growth = *amount == '+';
    amount += growth;
    budget->kind = growth ? BUDGET_GROWTH : BUDGET_HEIGHT;
    double per_h;
    int64_t number;
    if (!take_unit(amount, budget, &per_h))
        return text_error(error, error_size, "'%s': a rate is /s, /min, /h, /d or /iteration",
                          escape_name(budget->text).text);
    bool count = soak_series_unit(budget->series) == SOAK_UNIT_COUNT;
    if (!units_parse_bytes(amount, &number, why, sizeof why) ||
        (count && strspn(amount, "0123456789") != strlen(amount)))
        return text_error(error, error_size, "'%s': expected %s", escape_name(budget->text).text,
                          count ? "a whole number, such as 100/h"
                                : "a size, such as 5MB/h, 2GB or +20MB");
    budget->amount = (double)number * per_h;
    return true;
}

bool budget_text_parse(const char *text, struct budgets *budgets, char *error, size_t error_size)
{
    for (const char *at = text;; at++) {
        char item[ITEM_MAX];
        size_t length = strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", (int)length, at);
        if (length >= sizeof item)
            return text_error(error, error_size, "'%s...' is too long for a budget", item);
        struct budget budget = {0};
        if (!parse_item(item, &budget, error, error_size))
            return false;
        if (budgets->count == BUDGETS_MAX)
            return text_error(error, error_size, "more than %d budgets", BUDGETS_MAX);
        int same = 0;
        for (int i = 0; i < budgets->count; i++) {
            const struct budget *other = &budgets->budget[i];
            if (other->series == budget.series && other->kind == budget.kind)
                same++;
        }
        if (same > 0)
            return text_error(error, error_size,
                              "'%s' is the second budget of its kind for that series",
                              escape_name(budget.text).text);
        budgets->budget[budgets->count++] = budget;
        at += length;
        if (*at == '\0')
            return true;
    }
}
