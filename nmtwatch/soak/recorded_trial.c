#include "nmtwatch/soak/recorded_trial.h"

#include "nmtwatch/record/replay.h"

#include <stdio.h>
#include <string.h>

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
