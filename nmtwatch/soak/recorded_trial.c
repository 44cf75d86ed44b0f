#include "nmtwatch/soak/recorded_trial.h"

#include "nmtwatch/record/reader.h"

#include <stdio.h>
#include <string.h>

static void on_alert(void *context, const struct alert *alert)
{
    trial_alert(context, alert);
}

static void feed(struct recording *recording, struct judge *judge, struct recorded_trial *recorded)
{
    struct event event;
    struct judge_view view;
    while (recording_next(recording, &event)) {
        judge_feed(judge, &event);
        judge_view(judge, &view);
        trial_event(recorded->trial, &event, &view);
        if (event.kind == EVENT_GONE)
            snprintf(recorded->gone, sizeof recorded->gone, "%s", event.text);
    }
    if (recording_damage(recording) != NULL)
        snprintf(recorded->damage, sizeof recorded->damage, "%s", recording_damage(recording));
}

bool recorded_trial_read(const char *path, const struct budgets *budgets,
                         struct recorded_trial *recorded, char *error, size_t error_size)
{
    memset(recorded, 0, sizeof *recorded);
    struct recording *recording = recording_open(path, error, error_size);
    if (recording == NULL)
        return false;
    const struct recording_header *header = recording_header(recording);
    recorded->wall_start_ms = header->wall_start_ms;
    recorded->trial = trial_create(&header->target, budgets);
    struct judge *judge = recorded->trial == NULL
                              ? NULL
                              : judge_create(&header->target, &header->thresholds, header->warmup_s,
                                             on_alert, recorded->trial);
    if (judge != NULL) {
        feed(recording, judge, recorded);
    } else {
        snprintf(error, error_size, "out of memory");
        trial_destroy(recorded->trial);
        recorded->trial = NULL;
    }
    judge_destroy(judge);
    recording_close(recording);
    return recorded->trial != NULL;
}
