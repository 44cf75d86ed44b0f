/* What a watcher learned: judged first, then told, so that the view that goes with an event knows
 * it; the alerts it raised follow it. */
#include "nmtwatch/watch/watcher_internal.h"

#include <stdarg.h>
#include <stdio.h>

void watcher_emit(struct watcher *watcher, struct event *event)
{
    event->ms = watcher->now_ms;
    judge_feed(watcher->judge, event);
    watcher->sink.event(watcher->sink.context, watcher, event);
    for (int i = 0; i < watcher->pending_count; i++)
        watcher->sink.alert(watcher->sink.context, watcher, &watcher->pending[i]);
    watcher->pending_count = 0;
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

static void merge(struct sample *picture, const struct sample *sample)
{
    for (int i = 0; i < SAMPLE_FIELD_COUNT; i++) {
        if (sample_has(sample, (enum sample_field)i))
            sample_set(picture, (enum sample_field)i, sample->value[i]);
    }
    if (!sample_has_nmt(sample))
        return;
    picture->nmt_present = sample->nmt_present;
    memcpy(picture->nmt, sample->nmt, sizeof picture->nmt);
    picture->extra_count = sample->extra_count;
    memcpy(picture->extra, sample->extra, sizeof picture->extra);
}

void watcher_emit_sample(struct watcher *watcher, const struct sample *sample)
{
    merge(&watcher->picture, sample);
    watcher->counts.polls++;
    struct event event = {.kind = EVENT_SAMPLE, .sample = *sample};
    watcher_emit(watcher, &event);
}
