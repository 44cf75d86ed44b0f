/* Asking: one question at a time, and what stops the application only within the budget. */
#include "nmtwatch/jvm/agent_figures.h"
#include "nmtwatch/watch/watcher_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* What a watcher learned: judged first, then passed on together with the alerts it raised, so that
 * the view that goes with an event includes it. */

void watcher_emit(struct watcher *watcher, struct event *event)
{
    event->ms = watcher->now_ms;
    struct alerts alerts;
    judge_feed(watcher->judge, event, &alerts);
    watcher->sink.event(watcher->sink.context, watcher, event, &alerts);
}

void watcher_note(struct watcher *watcher, const char *format, ...)
{
    struct event event = {.kind = EVENT_NOTE};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(event.text, sizeof event.text, format, arguments);
    va_end(arguments);
    watcher_emit(watcher, &event);
}

void watcher_add_note(struct watcher *watcher, const char *text, int64_t now_ms)
{
    watcher->now_ms = now_ms;
    watcher_note(watcher, "%s", text);
}

void watcher_end(struct watcher *watcher, enum failure_kind reason, const char *text)
{
    if (watcher->ended)
        return;
    watcher->ended = true;
    watcher->end_reason = reason;
    if (text == NULL)
        return;
    struct event event = {.kind = EVENT_GONE};
    snprintf(event.text, sizeof event.text, "%s", text);
    watcher_emit(watcher, &event);
}

void watcher_emit_sample(struct watcher *watcher, const struct sample *sample)
{
    sample_merge(&watcher->latest, sample);
    watcher->counts.polls++;
    struct event event = {.kind = EVENT_SAMPLE, .sample = *sample};
    watcher_emit(watcher, &event);
}

/* What costs the target nothing: its counters in hsperfdata, /proc, and the agent's figures. */

#define IDENTITY_RETRY_MS 1000

/* A JVM that has just started has no hsperfdata yet, and so no name and no version. */
static void complete_identity(struct watcher *watcher)
{
    if (watcher->perfdata != NULL || watcher->now_ms < watcher->next_identity_ms)
        return;
    watcher->next_identity_ms = watcher->now_ms + IDENTITY_RETRY_MS;
    target_refresh_identity(&watcher->target);
    if (watcher->target.perfdata[0] != '\0')
        watcher->perfdata = perfdata_open(&watcher->target);
}

/* Its own words, at each step: what the alert's figures do not say. */
static void tell_why_the_agent_gave_way(struct watcher *watcher, const struct sample *sample)
{
    char reason[200];
    int64_t step, before = 0;
    sample_get(&watcher->latest, SAMPLE_AGENT_BREAKER, &before);
    if (sample_get(sample, SAMPLE_AGENT_BREAKER, &step) && step > before &&
        agent_figures_reason(&watcher->target, reason, sizeof reason))
        watcher_note(watcher, "the profiler agent says: %s", reason);
}

bool watcher_look(struct watcher *watcher, struct sample *sample)
{
    sample_clear(sample);
    if (!proc_sample(&watcher->proc, sample))
        return false;
    complete_identity(watcher);
    if (watcher->perfdata != NULL && !perfdata_sample(watcher->perfdata, sample)) {
        perfdata_close(watcher->perfdata);
        watcher->perfdata = NULL;
        watcher->target.perfdata[0] = '\0';
    }
    agent_figures_sample(&watcher->target, sample);
    tell_why_the_agent_gave_way(watcher, sample);
    return true;
}

#define PRESSURE_EACH_MS 1000
#define BUSY_WAIT_MS     15000

bool ask(struct watcher *watcher, enum question question, const char *command)
{
    if (attach_ask(watcher->attach, command) != 0)
        return false;
    watcher->question = question;
    return true;
}

static void emit_skip(struct watcher *watcher, enum expensive_command command, int64_t predicted_us,
                      const char *reason)
{
    if (watcher->skip_noted[command])
        return;
    watcher->skip_noted[command] = true;
    struct event event = {.kind = EVENT_COST};
    snprintf(event.cost.command, sizeof event.cost.command, "%s", expensive_command_text(command));
    event.cost.predicted_us = predicted_us;
    event.cost.measured_us = -1;
    snprintf(event.cost.skipped, sizeof event.cost.skipped, "%s", reason);
    watcher_emit(watcher, &event);
}

static const struct pause_pressure *pressure_now(struct watcher *watcher)
{
    if (!watcher->options.ignore_pressure && watcher->now_ms >= watcher->next_pressure_ms) {
        pressure_read("", watcher->target.pid, &watcher->pressure);
        watcher->next_pressure_ms = watcher->now_ms + PRESSURE_EACH_MS;
        watcher->busy_noted = watcher->busy_noted && pause_pressed(&watcher->pressure);
    }
    return &watcher->pressure;
}

bool ask_waits(struct watcher *watcher, enum expensive_command command)
{
    int64_t *until_ms = &watcher->wait_until_ms[command];
    const struct pause_pressure *pressure = pressure_now(watcher);
    if (!pause_pressed(pressure) || (*until_ms > 0 && watcher->now_ms >= *until_ms)) {
        *until_ms = 0;
        return false;
    }
    if (*until_ms == 0)
        *until_ms = watcher->now_ms + BUSY_WAIT_MS;
    if (!watcher->busy_noted) {
        char words[160];
        pressure_words(pressure, words, sizeof words);
        watcher_note(watcher,
                     "the machine is busy (%s): questions that stop the application wait, "
                     "for %d s at most",
                     words, BUSY_WAIT_MS / 1000);
        watcher->busy_noted = true;
    }
    return true;
}

bool ask_expensive(struct watcher *watcher, enum question question, enum expensive_command command,
                   int64_t cap_us)
{
    struct pause_inputs now = pause_inputs_of(&watcher->latest, watcher->arenas);
    now.pressure = *pressure_now(watcher);
    int64_t predicted_us = pause_predict(&watcher->pause, command, &now);
    int64_t left_us = pause_left_us(&watcher->pause, watcher->now_ms);
    char reason[128];
    const char *busy = pause_pressed(&now.pressure) ? " on this busy machine" : "";
    if (predicted_us > left_us) {
        snprintf(reason, sizeof reason,
                 "would stop the application for about %.1f ms%s; %.1f ms are left of the budget",
                 (double)predicted_us / 1000, busy, (double)left_us / 1000);
        emit_skip(watcher, command, predicted_us, reason);
        return false;
    }
    if (predicted_us > cap_us) {
        snprintf(reason, sizeof reason,
                 "would stop the application for about %.0f ms%s, too long without a suspicion",
                 (double)predicted_us / 1000, busy);
        emit_skip(watcher, command, predicted_us, reason);
        return false;
    }
    if (!ask(watcher, question, expensive_command_text(command)))
        return false;
    watcher->skip_noted[command] = false;
    watcher->expensive = command;
    watcher->predicted_us = predicted_us;
    watcher->pause_inputs = now;
    return true;
}

void ask_charge(struct watcher *watcher)
{
    int64_t us = attach_elapsed_us(watcher->attach);
    pause_spend(&watcher->pause, watcher->expensive, &watcher->pause_inputs, watcher->now_ms, us);
    struct event event = {.kind = EVENT_COST};
    snprintf(event.cost.command, sizeof event.cost.command, "%s",
             expensive_command_text(watcher->expensive));
    event.cost.predicted_us = watcher->predicted_us;
    event.cost.measured_us = us;
    watcher_emit(watcher, &event);
}
