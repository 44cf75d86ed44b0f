#include "nmtwatch/commands/baseline.h"

#include "nmtwatch/record/replay.h"
#include "analyzers/model/memory_reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SAVED_REPLY_MAX (4 << 20)

static bool from_recording(struct replay *replay, struct sample *sample)
{
    bool found = false, warm = false;
    while (!warm && replay_next(replay)) {
        if (replay->event.kind != EVENT_SAMPLE || !sample_has_nmt(&replay->event.sample))
            continue;
        struct judge_view view;
        judge_view(replay->judge, &view);
        warm = view.warm;
        *sample = replay->event.sample;
        found = true;
    }
    return found;
}

static bool from_saved_reply(const char *path, struct sample *sample)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    char *text = malloc(SAVED_REPLY_MAX);
    size_t length = text != NULL ? fread(text, 1, SAVED_REPLY_MAX, file) : 0;
    fclose(file);
    struct memory_reading reading;
    sample_clear(sample);
    memory_reply_read(span_of(text, length), true, sample, &reading);
    free(text);
    return reading.have_nmt;
}

bool baseline_load(const char *path, struct sample *sample, char *error, size_t error_size)
{
    char why[512];
    struct replay replay;
    if (replay_open(&replay, path, why, sizeof why)) {
        bool found = from_recording(&replay, sample);
        replay_close(&replay);
        if (!found)
            snprintf(error, error_size, "%s: no NMT summary in this recording", path);
        return found;
    }
    if (from_saved_reply(path, sample))
        return true;
    snprintf(error, error_size, "%s: neither a recording nor a saved NMT summary (%s)", path, why);
    return false;
}
