/* Asking: one question at a time, and what stops the application only within the budget. */
#include "nmtwatch/watch/watcher_internal.h"

#include <inttypes.h>
#include <stdio.h>

bool ask(struct watcher *watcher, enum question question, const char *command)
{
    if (attach_ask(watcher->attach, command) != 0)
        return false;
    watcher->question = question;
    return true;
}

static int64_t picture(const struct watcher *watcher, enum sample_field field)
{
    int64_t value = 0;
    sample_get(&watcher->picture, field, &value);
    return value;
}

static struct pause_drivers drivers(const struct watcher *watcher)
{
    struct pause_drivers now;
    now.classes =
        picture(watcher, SAMPLE_CLASSES_LOADED) - picture(watcher, SAMPLE_CLASSES_UNLOADED);
    if (now.classes < 0)
        now.classes = 0;
    now.loaders = now.classes; /* each class may have a loader of its own */
    if (watcher->arenas >= 0 && watcher->arenas < now.loaders)
        now.loaders = watcher->arenas;
    struct nmt_amount heap;
    now.heap_bytes = sample_get_nmt(&watcher->picture, NMT_JAVA_HEAP, &heap)
                         ? heap.committed_bytes
                         : picture(watcher, SAMPLE_RSS_BYTES);
    return now;
}

static void emit_skip(struct watcher *watcher, enum dear_command command, int64_t predicted_us,
                      const char *reason)
{
    if (watcher->skip_noted[command])
        return;
    watcher->skip_noted[command] = true;
    struct event event = {.kind = EVENT_COST};
    snprintf(event.cost.command, sizeof event.cost.command, "%s", dear_command_text(command));
    event.cost.predicted_us = predicted_us;
    event.cost.measured_us = -1;
    snprintf(event.cost.skipped, sizeof event.cost.skipped, "%s", reason);
    watcher_emit(watcher, &event);
}

bool ask_dear(struct watcher *watcher, enum question question, enum dear_command command,
              int64_t cap_us)
{
    struct pause_drivers now = drivers(watcher);
    int64_t predicted_us = pause_predict(&watcher->pause, command, &now);
    int64_t left_us = pause_left_us(&watcher->pause, watcher->now_ms);
    char reason[128];
    if (predicted_us > left_us) {
        snprintf(reason, sizeof reason,
                 "would stop the application for about %.1f ms; %.1f ms are left of the budget",
                 (double)predicted_us / 1000, (double)left_us / 1000);
        emit_skip(watcher, command, predicted_us, reason);
        return false;
    }
    if (predicted_us > cap_us) {
        snprintf(reason, sizeof reason,
                 "would stop the application for about %.0f ms, too long without a suspicion",
                 (double)predicted_us / 1000);
        emit_skip(watcher, command, predicted_us, reason);
        return false;
    }
    if (!ask(watcher, question, dear_command_text(command)))
        return false;
    watcher->skip_noted[command] = false;
    watcher->dear = command;
    watcher->dear_predicted_us = predicted_us;
    watcher->dear_drivers = now;
    return true;
}

void ask_charge(struct watcher *watcher)
{
    int64_t us = attach_elapsed_us(watcher->attach);
    pause_spend(&watcher->pause, watcher->dear, &watcher->dear_drivers, watcher->now_ms, us);
    struct event event = {.kind = EVENT_COST};
    snprintf(event.cost.command, sizeof event.cost.command, "%s", dear_command_text(watcher->dear));
    event.cost.predicted_us = watcher->dear_predicted_us;
    event.cost.measured_us = us;
    watcher_emit(watcher, &event);
}
