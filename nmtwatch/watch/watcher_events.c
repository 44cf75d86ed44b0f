/* What a watcher learned: judged first, then passed on together with the alerts it raised, so that
 * the view that goes with an event includes it. */
#include "nmtwatch/watch/watcher_internal.h"

#include <stdarg.h>
#include <stdio.h>

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

void watcher_tell(struct watcher *watcher, const char *text, int64_t now_ms)
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
    sample_merge(&watcher->picture, sample);
    watcher->counts.polls++;
    struct event event = {.kind = EVENT_SAMPLE, .sample = *sample};
    watcher_emit(watcher, &event);
}
