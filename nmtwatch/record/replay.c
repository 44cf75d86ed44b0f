#include "nmtwatch/record/replay.h"

#include <stdio.h>
#include <string.h>

bool replay_judge_with(struct replay *replay, const struct thresholds *thresholds, int64_t warmup_s)
{
    judge_destroy(replay->judge);
    replay->judge = judge_create(&replay->header->target, thresholds, warmup_s);
    return replay->judge != NULL;
}

bool replay_open(struct replay *replay, const char *path, char *error, size_t error_size)
{
    memset(replay, 0, sizeof *replay);
    replay->recording = recording_open(path, error, error_size);
    if (replay->recording == NULL)
        return false;
    replay->until_ms = INT64_MAX;
    replay->header = recording_header(replay->recording);
    if (replay_judge_with(replay, &replay->header->thresholds, replay->header->warmup_s))
        return true;
    snprintf(error, error_size, "%s: out of memory", path);
    replay_close(replay);
    return false;
}

bool replay_next(struct replay *replay)
{
    if (!recording_next(replay->recording, &replay->event) || replay->event.ms > replay->until_ms)
        return false;
    judge_feed(replay->judge, &replay->event, &replay->alerts);
    return true;
}

void replay_close(struct replay *replay)
{
    judge_destroy(replay->judge);
    recording_close(replay->recording);
    replay->judge = NULL;
    replay->recording = NULL;
}
