#include "nmtwatch/watch/watcher_internal.h"

#include "reports/text/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The first class-loader census comes early: it is the baseline of the later ones. */
#define FIRST_LOADERS_PART 4

static void gone(struct watcher *watcher)
{
    char text[128];
    struct target now;
    struct failure ignored;
    bool replaced = target_open(&now, watcher->target.pid, &ignored) == FAILURE_NONE;
    if (replaced)
        target_close(&now);
    snprintf(text, sizeof text,
             replaced ? "pid %d is another process now: the JVM that was watched has ended"
                      : "pid %d has ended",
             (int)watcher->target.pid);
    naming_abandon(watcher);
    attach_abandon(watcher->attach);
    watcher->question = QUESTION_NONE;
    watcher_end(watcher, FAILURE_GONE, text);
}

static void tick(struct watcher *watcher)
{
    struct sample sample;
    if (!watcher_look(watcher, &sample)) {
        gone(watcher);
        return;
    }
    /* Ticks that were missed (a suspended machine) are not made up for. */
    watcher->next_tick_ms += watcher->options.interval_ms;
    if (watcher->next_tick_ms <= watcher->now_ms)
        watcher->next_tick_ms = watcher->now_ms + watcher->options.interval_ms;
    watcher_emit_sample(watcher, &sample);
    naming_tick(watcher);
}

/* --- life ------------------------------------------------------------------------------------- */

struct watcher *watcher_create(const struct target *target, const struct watch_options *options,
                               const struct watch_sink *sink, int64_t now_ms)
{
    struct watcher *watcher = calloc(1, sizeof *watcher);
    if (watcher == NULL)
        return NULL;
    watcher->target = *target;
    watcher->options = *options;
    watcher->sink = *sink;
    watcher->now_ms = now_ms;
    watcher->next_tick_ms = watcher->next_memory_ms = now_ms;
    watcher->next_loaders_ms = now_ms + options->loaders_interval_ms / FIRST_LOADERS_PART;
    watcher->arenas = -1;
    watcher->tap_idle_since_ms = -1;
    watcher->tap.fd = watcher->tap.guard_pipe = -1;
    watcher->proc.stat_fd = watcher->proc.statm_fd = -1;
    pause_budget_init(&watcher->pause, options->pause_budget_us, options->pause_window_ms);
    struct attach_limits limits = {.timeout_ms = options->timeout_ms, .replies = options->replies};
    watcher->attach = attach_create(target, &limits);
    watcher->judge = judge_create(&target->identity, &options->thresholds, options->warmup_s);
    watcher->census = census_create(0);
    if (watcher->attach == NULL || watcher->judge == NULL || watcher->census == NULL ||
        proc_open(&watcher->proc, target) != 0) {
        int saved = errno;
        watcher_destroy(watcher);
        errno = saved;
        return NULL;
    }
    return watcher;
}

void watcher_step(struct watcher *watcher, int64_t now_ms)
{
    if (watcher->ended)
        return;
    watcher->now_ms = now_ms;
    if (watcher->question != QUESTION_NONE) {
        enum attach_state state = attach_step(watcher->attach);
        if (state == ATTACH_DONE)
            polling_answered(watcher);
        else if (state == ATTACH_FAILED)
            polling_failed(watcher);
    }
    if (!watcher->ended && !watcher->stopping && now_ms >= watcher->next_tick_ms)
        tick(watcher);
    if (!watcher->ended && watcher->question == QUESTION_NONE)
        polling_ask_next(watcher);
    if (watcher->stopping && watcher->question == QUESTION_NONE)
        watcher_end(watcher, FAILURE_NONE, NULL);
}

int watcher_fd(const struct watcher *watcher, short *events)
{
    *events = 0;
    return watcher->question == QUESTION_NONE ? -1 : attach_fd(watcher->attach, events);
}

int64_t watcher_wait_ms(const struct watcher *watcher, int64_t now_ms)
{
    int64_t until_ms = watcher->next_tick_ms;
    if (watcher->stopping)
        until_ms = now_ms + 1000;
    if (watcher->question != QUESTION_NONE && now_ms + attach_wait_ms(watcher->attach) < until_ms)
        until_ms = now_ms + attach_wait_ms(watcher->attach);
    return until_ms > now_ms ? until_ms - now_ms : 0;
}

void watcher_stop(struct watcher *watcher, int64_t now_ms)
{
    watcher->stopping = true;
    /* A question in flight that is not about the tap is of no use any more. */
    if (watcher->question != QUESTION_NONE && watcher->question != QUESTION_TAP_OFF &&
        watcher->question != QUESTION_TAP_ON) {
        attach_abandon(watcher->attach);
        watcher->question = QUESTION_NONE;
    }
    watcher_step(watcher, now_ms);
}

bool watcher_ended(const struct watcher *watcher)
{
    return watcher->ended;
}

enum failure_kind watcher_end_reason(const struct watcher *watcher)
{
    return watcher->end_reason;
}

const struct target *watcher_target(const struct watcher *watcher)
{
    return &watcher->target;
}

const struct judge *watcher_judge(const struct watcher *watcher)
{
    return watcher->judge;
}

const struct sample *watcher_latest(const struct watcher *watcher)
{
    return &watcher->latest;
}

struct watcher_counts watcher_counts(const struct watcher *watcher)
{
    struct watcher_counts counts = watcher->counts;
    counts.pause_us = watcher->pause.total_us;
    counts.failing = watcher->noted_failure;
    return counts;
}

void watcher_resume(struct watcher *watcher, const struct judge_memory *memory, int64_t pause_us)
{
    const struct pause_inputs none = {0};
    judge_resume(watcher->judge, memory);
    if (pause_us <= 0)
        return;
    pause_spend(&watcher->pause, EXPENSIVE_LOADER_STATS, &none, watcher->now_ms, pause_us);
    /* The command is a stand-in: nothing was measured, and the counter is of this process. */
    watcher->pause.measured[EXPENSIVE_LOADER_STATS].known = false;
    watcher->pause.total_us = 0;
}

int64_t watcher_pause_spent_us(const struct watcher *watcher)
{
    return watcher->pause.budget_us - pause_left_us(&watcher->pause, watcher->now_ms);
}

void watcher_destroy(struct watcher *watcher)
{
    if (watcher == NULL)
        return;
    naming_abandon(watcher);
    if (watcher->perfdata != NULL)
        perfdata_close(watcher->perfdata);
    proc_close(&watcher->proc);
    if (watcher->attach != NULL)
        attach_destroy(watcher->attach);
    judge_destroy(watcher->judge);
    census_destroy(watcher->census);
    target_close(&watcher->target);
    free(watcher);
}
