#include "nmtwatch/soak/soak_run.h"

#include "nmtwatch/process/clock.h"
#include "nmtwatch/soak/soak_jvm.h"
#include "nmtwatch/process/signals.h"
#include "nmtwatch/process/tell.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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
    for (int number; (number = signals_to_pass()) != 0;) {
        if (child->pid > 0)
            child_signal(child, number);
    }
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
    for (int i = 0; i < run->jvm_count; i++) {
        if (trial_has_failed(run->jvms[i].trial))
            return true;
    }
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
        tell_error("nmtwatch soak: %s\n", error);
    return code;
}

void soak_run_destroy(struct soak_run *run)
{
    watching_close(&run->watching);
    for (int i = 0; i < run->jvm_count; i++)
        trial_destroy(run->jvms[i].trial);
    counter_destroy(run->counter);
}
